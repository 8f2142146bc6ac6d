import { instantOf, readWall, wallOf, wallText } from '../../../shared/base/wall-time.ts';
import type { Repeat, Schedule } from '../../../shared/state/reminder/book.ts';
import { isGiven } from '../../tools/toolbox.ts';
import { cronProblem, nextDueMs } from './schedule.ts';

/** The reminder that the model asks for; or an error, as a sentence for the model. */
type ReminderInput = { ok: true; text: string; schedule: Schedule; dueAtMs: number } | { ok: false; problem: string };

/** The present time, the chat's time zone and the limits of a reminder. */
interface ReminderInputFacts {
  nowMs: number;
  timeZone: string;
  /** The minimum number of minutes to the first due time; one minute less is tolerated. Does not apply to cron expressions. */
  leastMinutes: number;
  /** The shortest interval between two due times of a repeat, in minutes. */
  repeatMinutesMin: number;
}

type Input = Readonly<Record<string, unknown>>;
type FirstTime = { firstMs: number } | { problem: string };

const MINUTE_MS = 60_000;
const YEAR_MINUTES = 366 * 24 * 60;
const AHEAD_MINUTES_MAX = 2 * YEAR_MINUTES;
const TEXT_CHARS_MAX = 1_000;

/** Reads the input of a call. An empty field counts as absent, because models fill in optional fields. Pure. */
export function readReminderInput(input: Input, facts: ReminderInputFacts): ReminderInput {
  const text = typeof input.text === 'string' ? input.text.toWellFormed().trim() : '';
  if (text === '') return wrong('"text" must say what to say or do at that time.');
  if (text.length > TEXT_CHARS_MAX)
    return wrong(`"text" has ${text.length} characters; ${TEXT_CHARS_MAX} are the most.`);
  const repeat = readRepeat(input, facts);
  if (typeof repeat === 'string') return wrong(repeat);
  const first = readFirst(input, repeat, facts);
  if ('problem' in first) return wrong(first.problem);
  const schedule = { firstMs: first.firstMs, timeZone: facts.timeZone, ...(repeat && { repeat }) };
  const dueAtMs = nextDueMs(schedule, facts.nowMs) ?? first.firstMs;
  const aheadMinutes = (dueAtMs - facts.nowMs) / MINUTE_MS;
  if (aheadMinutes > AHEAD_MINUTES_MAX) return wrong('That is more than two years ahead.');
  if (aheadMinutes < facts.leastMinutes - 1 && !isCron(repeat))
    return wrong(`A reminder that is due may set another one ${facts.leastMinutes} minutes ahead or later.`);
  return { ok: true, text, schedule, dueAtMs };
}

/** The repeat, if the input has one; or an error, as a sentence for the model. */
function readRepeat({ cron, every }: Input, { repeatMinutesMin }: ReminderInputFacts): Repeat | string | undefined {
  if (isGiven(cron) && isGiven(every)) return 'Give either "cron" or "every".';
  if (isGiven(cron))
    return typeof cron === 'string'
      ? (cronProblem(cron, repeatMinutesMin) ?? { cron: cron.trim() })
      : '"cron" must be a text.';
  if (!isGiven(every)) return undefined;
  if (!isMinutes(every) || every < repeatMinutesMin)
    return `"every" must be a number of minutes, ${repeatMinutesMin} or more: the operator allows no shorter repeat.`;
  return { everyMinutes: every };
}

/**
 * The first due time, or an error for the model. For a repeat without "at" and "in": one interval from now. For a cron
 * expression, which determines all due times itself: now.
 */
function readFirst({ at, in: minutes }: Input, repeat: Repeat | undefined, facts: ReminderInputFacts): FirstTime {
  const { nowMs } = facts;
  const [hasAt, hasIn] = [isGiven(at), isGiven(minutes)];
  if (hasAt && hasIn) return { problem: 'Give either "at" or "in".' };
  if (repeat && 'cron' in repeat)
    return hasAt || hasIn ? { problem: '"cron" says when: leave "at" and "in" out.' } : { firstMs: nowMs };
  if (hasAt) return readAt(at, facts);
  if (hasIn && !isMinutes(minutes)) return { problem: '"in" must be a number of minutes, 1 or more.' };
  if (isMinutes(minutes)) return { firstMs: nowMs + minutes * MINUTE_MS };
  if (repeat) return { firstMs: nowMs + repeat.everyMinutes * MINUTE_MS };
  return { problem: 'Say when: give "at", "in", "cron" or "every".' };
}

function readAt(at: unknown, { nowMs, timeZone }: ReminderInputFacts): FirstTime {
  const now = `It is ${wallText(wallOf(nowMs, timeZone))} in ${timeZone} now.`;
  const wallMs = typeof at === 'string' ? readWall(at) : undefined;
  if (wallMs === undefined)
    return { problem: `"at" must be a local time such as "2026-11-23T09:00", without a zone. ${now}` };
  const firstMs = instantOf(wallMs, timeZone);
  return firstMs > nowMs ? { firstMs } : { problem: `"at" is in the past. ${now}` };
}

function isCron(repeat: Repeat | undefined): boolean {
  return repeat !== undefined && 'cron' in repeat;
}

function isMinutes(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= AHEAD_MINUTES_MAX;
}

function wrong(problem: string): ReminderInput {
  return { ok: false, problem };
}
