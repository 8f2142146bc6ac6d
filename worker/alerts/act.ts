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
  /** How it went, in few words; absent while it is under way. */
  result?: string;
}

/** What operators did about an opening of an incident: the last time of each act. */
export type NotedActs = Readonly<Record<string, NotedAct>>;

/** Longer than a process that was killed is missing: then somebody else may do what it began. */
const UNDER_WAY_MS = 600_000;
/** What the clocks of two servers may differ by. */
const AHEAD_MS = 60_000;

/** Whether an act was begun and may still be done. After a step back of the clock, an act that lies ahead is not. Pure. */
export function isUnderWay({ atMs, result }: NotedAct, nowMs: number): boolean {
  return result === undefined && nowMs >= atMs - AHEAD_MS && nowMs < atMs + UNDER_WAY_MS;
}

/** The acts that this version knows, as lines of the message about the incident, oldest first. Pure. */
export function actLines(acts: NotedActs = {}): string[] {
  return Object.entries(acts)
    .sort(([, one], [, other]) => one.atMs - other.atMs)
    .flatMap(([name, { about, result, by, atMs }]) => {
      if (!isAct(name) || name === 'close') return [];
      return [ALERT_WORDS.done(result ?? ALERT_WORDS.underWay(labelOf(name, about?.chat)), by, utcClock(atMs))];
    });
}
