/** A day, because no clock change, such as to summer time, and no offset from UTC exceeds a day. */
const DAY_MS = 24 * 3_600_000;

/** The wall time in a zone at an instant, as the ms since the epoch at which clocks in UTC show the same time. Pure. */
export function wallOf(atMs: number, timeZone: string): number {
  const parts = formatFor(timeZone).formatToParts(atMs);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((each) => each.type === type)?.value);
  const [year, month, day] = [part('year'), part('month') - 1, part('day')];
  const [hour, minute, second] = [part('hour'), part('minute'), part('second')];
  return Date.UTC(year, month, day, hour, minute, second) + (((atMs % 1_000) + 1_000) % 1_000);
}

/**
 * The instant of a wall time in a zone, in ms since the epoch. For a time that the clocks skip, the first instant after the
 * gap; for a time that the clocks show twice, the first of the two instants. Pure.
 */
export function instantOf(wallMs: number, timeZone: string): number {
  const offsetAt = (atMs: number) => wallOf(atMs, timeZone) - atMs;
  const [before, after] = [offsetAt(wallMs - DAY_MS), offsetAt(wallMs + DAY_MS)];
  const instants = [wallMs - before, wallMs - after].filter((atMs) => wallOf(atMs, timeZone) === wallMs);
  if (instants.length > 0) return Math.min(...instants);
  let [beforeChange, afterChange] = [wallMs - after, wallMs - before];
  while (afterChange - beforeChange > 1) {
    const middle = Math.floor((beforeChange + afterChange) / 2);
    if (offsetAt(middle) === after) afterChange = middle;
    else beforeChange = middle;
  }
  return afterChange;
}

/** Formats a wall time, such as `2026-11-23 09:00`. Pure. */
export function wallText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 16).replace('T', ' ');
}

const WALL = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?$/;

/** Reads a wall time, such as `2026-11-23T09:00`; `undefined` for any other text. Pure. */
export function readWall(text: string): number | undefined {
  const match = WALL.exec(text.trim());
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((digits) => Number(digits ?? 0));
  const wallMs = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(wallMs);
  const isReal =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  return isReal ? wallMs : undefined;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const cached = formats.get(timeZone);
  if (cached) return cached;
  const numeric = 'numeric';
  const date = { year: numeric, month: numeric, day: numeric } as const;
  const time = { hour: numeric, minute: numeric, second: numeric, hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-US', { ...date, ...time, timeZone });
  formats.set(timeZone, format);
  return format;
}

/** An instant to the second, for people: `2026-11-25 04:13:59 UTC`. Pure. */
export function utcTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The time of day of an instant to the minute, for people: `04:13 UTC`. Pure. */
export function utcClock(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 16)} UTC`;
}
