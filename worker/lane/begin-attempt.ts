import { randomUUID } from 'node:crypto';
import {
  type ChatKey,
  chatOf,
  type EntryId,
  type Keys,
  type LaneKey,
  type SessionId,
} from '../../shared/redis/keys.ts';
import type { RunScript } from '../../shared/redis/script.ts';
import type { RedisClock } from './clock.ts';
import type { Begun } from './lane.ts';
import { readAttempt } from './read-attempt.ts';

/** The reply of `begin.lua`. */
export type BeginReply =
  | ['settled' | 'waiting', head: EntryId | '', traceparent: string, lane: LaneKey]
  | ['fenced']
  | ['paused']
  | ['poison candidate', timeMs: number]
  | ['begun', timeMs: number, home: ChatKey, string[], string[], SessionId, string[], string[], behind: number];

/** One crash may be any message's fault, or none's. */
const SUSPECT_DEATHS = 2;

/** The arguments for beginning an attempt. */
interface Beginning {
  begin: RunScript<BeginReply>;
  write: RunScript<string>;
  keys: Keys;
  clock: RedisClock;
}

/** Begins an attempt at a message: runs `begin.lua` and reads what it returns. */
export async function beginAttempt(
  parts: Beginning,
  entry: EntryId,
  lane: LaneKey,
  newSession: SessionId,
): Promise<Begun> {
  const { keys, clock, write } = parts;
  const chat = chatOf(lane);
  const { inbound, poisonCandidates, absent, paused } = keys;
  const at = [inbound, keys.turn(entry), keys.lane(lane), keys.chat(chat), poisonCandidates, absent, paused];
  const { chatPrefix, lanePrefix, turnPrefix } = keys;
  const prefixes = [chatPrefix, lanePrefix, turnPrefix];
  const ids = [SUSPECT_DEATHS, randomUUID(), lane, ...prefixes, chat];
  const noSession = '' as SessionId;
  const args = [entry, newSession, keys.session(noSession), ...ids, keys.log(noSession)];
  const reply = await clock.learn(() => parts.begin(at, args), timeOf);
  if (reply[0] !== 'begun') return notBegun(reply);
  const [, , home, fields, turn, session, sessionFields, chatFields, behind] = reply;
  const read = { fields, turn, session, sessionFields, chatFields, behind };
  return { kind: 'begun', attempt: readAttempt({ keys, write, nowMs: clock.nowMs, entry, lane, home, ...read }) };
}

function timeOf(reply: BeginReply): number | undefined {
  return reply[0] === 'begun' || reply[0] === 'poison candidate' ? reply[1] : undefined;
}

/** Why an attempt was not begun. */
function notBegun(reply: Exclude<BeginReply, ['begun', ...unknown[]]>): Begun {
  if (reply[0] === 'poison candidate' || reply[0] === 'fenced' || reply[0] === 'paused') return { kind: reply[0] };
  const [kind, head, traceparent, lane] = reply;
  return head === '' ? { kind: 'settled' } : { kind, head: { entry: head, chat: lane, traceparent } };
}
