import { utcClock } from '../../shared/base/utc-time.ts';
import type { ChatKey, EntryId } from '../../shared/redis/keys.ts';
import { isAct, labelOf } from './causes/acts.ts';
import { ALERT_WORDS } from './causes/words.ts';

/** A message that waits, and its chat. */
export interface WaitingMessage {
  chat: ChatKey;
  entry: EntryId;
}

/** An act as it is noted before it is done. Plain JSON; times are ms since the epoch, by Redis' clock. */
export interface NotedAct {
  /** How often this was done about this opening of the incident, with this time. */
  n: number;
  /** Who did it: as others know that person, and by id. */
  by: string;
  id: number;
  atMs: number;
  /** The message that does it: whoever repeats that one after a crash goes on, and nobody else does it again. */
  entry: EntryId;
  /** What it is about, as far as that was fixed when it was noted. */
  about?: WaitingMessage;
  /** How many things it is to be done to. */
  of?: number;
  /** Of a snooze that is not over: until when nothing rings. */
  untilMs?: number;
  /** How it went, in few words; absent while it is under way. */
  result?: string;
}

/** What operators did about an opening of an incident: the last time of each act. */
export type NotedActs = Readonly<Record<string, NotedAct>>;

/** Who works on something is left alone for so long. */
const TAKEN_MS = 4 * 3600_000;
/** Longer than a process that was killed is missing: then somebody else may do what it began. */
const UNDER_WAY_MS = 600_000;
/** What the clocks of two servers may differ by. */
const AHEAD_MS = 60_000;

/** Whether an act was begun and may still be done. Pure. */
export function isUnderWay({ atMs, result }: NotedAct, nowMs: number): boolean {
  return result === undefined && isWithin(nowMs, atMs, UNDER_WAY_MS);
}

/** Whether somebody works on it, who need not be reminded of it. Pure. */
export function isTaken({ take }: NotedActs = {}, nowMs: number): boolean {
  return take !== undefined && isWithin(nowMs, take.atMs, TAKEN_MS);
}

/** Until when nothing rings, and who said so; the newest counts, also once it is over. Pure. */
export function snoozeIn({ snooze, morning }: NotedActs = {}): (NotedAct & { untilMs: number }) | undefined {
  const [newest] = [snooze, morning]
    .filter((each): each is NotedAct & { untilMs: number } => each?.untilMs !== undefined)
    .sort((one, other) => other.atMs - one.atMs);
  return newest;
}

/** Whether nothing is to ring now. Pure. */
export function isSnoozed(acts: NotedActs | undefined, nowMs: number): boolean {
  const snooze = snoozeIn(acts);
  return snooze !== undefined && isWithin(nowMs, snooze.atMs, snooze.untilMs - snooze.atMs);
}

/** An incident without a snooze that is over. Pure. */
export function wokenUp<T extends { acts?: NotedActs }>(incident: T, nowMs: number): T {
  if (incident.acts === undefined || isSnoozed(incident.acts, nowMs)) return incident;
  const acts = Object.entries(incident.acts).map(([name, { untilMs: _, ...act }]) => [name, act] as const);
  return { ...incident, acts: Object.fromEntries(acts) };
}

/** Whether a notice is to ring nobody: an operator works on it, or has put it off. What gets worse, or ends, rings. Pure. */
export function isHushed(acts: NotedActs | undefined, kind: string, nowMs: number): boolean {
  if (kind === 'lasts') return isTaken(acts, nowMs) || isSnoozed(acts, nowMs);
  return kind === 'grown' && isSnoozed(acts, nowMs);
}

/** After the clock has stepped back, what lies ahead would last for as long as the step. */
function isWithin(nowMs: number, fromMs: number, lengthMs: number): boolean {
  return nowMs >= fromMs - AHEAD_MS && nowMs < fromMs + lengthMs;
}

/** What was done, as it stands in the message about the incident, oldest first. Pure. */
export function actLines(acts: NotedActs = {}): string[] {
  const snooze = snoozeIn(acts);
  return Object.entries(acts)
    .sort(([, one], [, other]) => one.atMs - other.atMs)
    .flatMap(([name, act]) => {
      const [by, at] = [act.by, utcClock(act.atMs)];
      if (name === 'take') return [ALERT_WORDS.taken(by, at)];
      if (name === 'snooze' || name === 'morning')
        return act.untilMs !== undefined && act.atMs === snooze?.atMs
          ? [ALERT_WORDS.snoozed(utcClock(act.untilMs), by)]
          : [];
      if (name === 'close') return [];
      const what = isAct(name) ? labelOf(name, act.about?.chat) : name;
      return [ALERT_WORDS.done(act.result ?? ALERT_WORDS.underWay(what), by, at)];
    });
}
