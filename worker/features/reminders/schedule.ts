import { CronExpressionParser } from 'cron-parser';
import { instantOf, wallOf } from '../../../shared/base/wall-time.ts';
import type { Repeat, Schedule } from '../../../shared/state/reminder/book.ts';
import type { Rhythm, Times } from '../../../shared/texts/times.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/**
 * The first due time of a schedule after `afterMs`; undefined if there is none. Cron expressions and repeats of whole days
 * follow the clocks of the schedule's zone; other repeats follow the elapsed time. Throws on an invalid cron expression. Pure.
 */
export function nextDueMs({ firstMs, repeat, timeZone }: Schedule, afterMs: number): number | undefined {
  if (firstMs > afterMs) return firstMs;
  if (repeat === undefined) return undefined;
  if ('cron' in repeat) return nextOfCron(repeat.cron, timeZone, afterMs);
  const stepMs = repeat.everyMinutes * MINUTE_MS;
  if (repeat.everyMinutes % DAY_MINUTES !== 0) return firstMs + (Math.floor((afterMs - firstMs) / stepMs) + 1) * stepMs;
  const firstWall = wallOf(firstMs, timeZone);
  for (
    let wallMs = firstWall + Math.floor((wallOf(afterMs, timeZone) - firstWall) / stepMs) * stepMs;
    ;
    wallMs += stepMs
  ) {
    const atMs = instantOf(wallMs, timeZone);
    if (atMs > afterMs) return atMs;
  }
}

/** `dueSince` counts up to this number. */
const MISSED_MAX = 200;

/**
 * How often a repeat was due after `dueAtMs` and until `nowMs`, 200 at most, and the last of the counted due times. Undefined
 * if the repeat was not due again. Throws on an invalid cron expression. Pure.
 */
export function dueSince(
  schedule: Schedule,
  dueAtMs: number,
  nowMs: number,
): { times: number; lastMs: number } | undefined {
  let [times, lastMs] = [0, dueAtMs];
  for (let next = nextDueMs(schedule, dueAtMs); next !== undefined && next <= nowMs && times < MISSED_MAX; times += 1) {
    lastMs = next;
    next = nextDueMs(schedule, next);
  }
  return times === 0 ? undefined : { times, lastMs };
}

/**
 * The first due time of a cron expression after `afterMs`. Reads the expression in wall time, as if that were UTC, so that a
 * change of the clocks neither skips nor repeats a due time.
 */
function nextOfCron(cron: string, timeZone: string, afterMs: number): number {
  const times = CronExpressionParser.parse(cron, { currentDate: wallOf(afterMs, timeZone), tz: 'UTC' });
  for (;;) {
    const atMs = instantOf(times.next().getTime(), timeZone);
    if (atMs > afterMs) return atMs;
  }
}

const FIELD = /^(?:[\d*,/-]|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+$/i;

/**
 * The problem with a cron expression, for the model; undefined if it is valid and its gaps are at least `minutesMin` long.
 * Pure.
 */
export function cronProblem(cron: string, minutesMin: number): string | undefined {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5 || !fields.every((field) => FIELD.test(field)))
    return '"cron" must have five fields (minute, hour, day of the month, month, day of the week), such as "0 9 * * 1-5".';
  try {
    const { minute, hour } = CronExpressionParser.parse(cron, { tz: 'UTC' }).fields;
    const isTooOften = leastGap(minute.values as number[], hour.values as number[]) < minutesMin;
    return isTooOften
      ? `A repeat can come every ${minutesMin} minutes at most: the operator allows no shorter one.`
      : undefined;
  } catch {
    return '"cron" is no cron expression that ever comes.';
  }
}

/** The smallest gap between two successive due times, in minutes, including the gap across midnight. */
function leastGap(minutes: readonly number[], hours: readonly number[]): number {
  const times = hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute));
  const [first = 0] = times;
  return Math.min(...times.map((time, at) => (times[at + 1] ?? first + DAY_MINUTES) - time));
}

/** The maximum number of times of day that a text lists. */
const LISTED_MAX = 6;

/** The facts about a repeat, for messages to people; undefined for an invalid cron expression. Pure. */
export function rhythmOf(repeat: Repeat): Rhythm | undefined {
  if ('everyMinutes' in repeat) return repeat;
  try {
    const { minute, hour, dayOfMonth, month, dayOfWeek } = CronExpressionParser.parse(repeat.cron, {
      tz: 'UTC',
    }).fields;
    const restrictionsOf = (values: readonly unknown[], all: number) =>
      values.length >= all ? [] : [...new Set(values.map((value) => Number(value)))];
    return {
      weekdays: restrictionsOf(dayOfWeek.values, 7),
      dates: restrictionsOf(dayOfMonth.values, 31),
      months: restrictionsOf(month.values, 12),
      times: timesOf(minute.values.map(Number), hour.values.map(Number)),
    };
  } catch {
    return undefined;
  }
}

function timesOf(minutes: readonly number[], hours: readonly number[]): Times {
  const all = hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute));
  const [from = 0, next = 0] = all;
  const to = all.at(-1) ?? 0;
  const everyMinutes = next - from;
  const isEven = all.every((time, at) => time === from + at * everyMinutes);
  if (all.length <= LISTED_MAX && !(isEven && hours.length === 24)) return { list: all, more: 0 };
  if (!isEven) return { list: all.slice(0, LISTED_MAX), more: all.length - LISTED_MAX };
  const isAllDay = from === 0 && to + everyMinutes === DAY_MINUTES;
  return isAllDay ? { everyMinutes } : { everyMinutes, from, to };
}
