import { DateTime, IANAZone } from 'luxon';

const MINUTE_MS = 60_000;
/** A day, because no clock change, such as to summer time, and no offset from UTC exceeds a day. */
const DAY_MS = 24 * 3_600_000;

/** The wall time in a zone at an instant, as the ms since the epoch at which clocks in UTC show the same time. Pure. */
export function wallOf(atMs: number, timeZone: string): number {
  return atMs + IANAZone.create(timeZone).offset(atMs) * MINUTE_MS;
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

const WALL = /^\d{4}-\d{2}-\d{2}[T ](?:[01]\d|2[0-3]):\d{2}(?::\d{2})?$/;

/** Reads a wall time, such as `2026-11-23T09:00`; `undefined` for any other text. Pure. */
export function readWall(text: string): number | undefined {
  const wall = text.trim();
  const time = DateTime.fromISO(wall.replace(' ', 'T'), { zone: 'utc' });
  return WALL.test(wall) && time.isValid ? time.toMillis() : undefined;
}

/** An instant to the second, for people: `2026-11-25 04:13:59 UTC`. Pure. */
export function utcTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The time of day of an instant to the minute, for people: `04:13 UTC`. Pure. */
export function utcClock(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 16)} UTC`;
}
