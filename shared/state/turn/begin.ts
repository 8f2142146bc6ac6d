import { randomUUID } from 'node:crypto';
import { type ChatKey, chatOf, type EntryId, type Keys, type LaneKey, type SessionId } from '../../redis/keys.ts';
import type { RunScript } from '../../redis/script.ts';
import { fieldsOf } from '../../redis/stream.ts';
import { fencedWrites } from '../change.ts';
import type { ChatTable } from '../chat/chat-settings.ts';
import { type Head, headOf, type RedisClock } from '../lane/lanes.ts';
import { Turn } from './turn.ts';

/** The result of beginning an attempt. */
export type Begun =
  | { kind: 'begun'; turn: Turn }
  /** The message has its outcome. `head` is the lane's next head, if any; after a crash, that head may not be a job yet. */
  | { kind: 'settled'; head?: Head }
  /** Another message of the chat comes first: `head`. */
  | { kind: 'waiting'; head: Head }
  /** The message is a poison candidate, and an older poison candidate comes first. */
  | { kind: 'poison candidate' }
  /** An operator has paused the chat, or all chats. The reconciler makes the message a job again after the pause. */
  | { kind: 'paused' }
  /** The reply was lost, and another attempt took over before the request was sent again. */
  | { kind: 'fenced' };

/** The reply of `begin.lua`. */
export type BeginReply =
  | ['settled' | 'waiting', head: EntryId | '', lane: LaneKey, traceparent: string, person: string]
  | ['fenced']
  | ['paused']
  | ['poison candidate', timeMs: number]
  | [
      'begun',
      timeMs: number,
      chat: ChatKey,
      string[],
      string[],
      SessionId,
      string[],
      string[],
      messagesBehind: number,
      string,
    ];

/** How many crashes in a row make a message a poison candidate. One crash may be the fault of any message, or of none. */
const CRASHES_OF_CANDIDATE = 2;

/** The scripts and the data of a shard that an attempt needs. */
interface Shard {
  begin: RunScript<BeginReply>;
  write: RunScript<string>;
  keys: Keys;
  clock: RedisClock;
  chats: ChatTable;
}

/** Begins an attempt at a message with `begin.lua`. Rejects while Redis cannot be reached or accepts no writes. */
export async function beginTurn(shard: Shard, entry: EntryId, lane: LaneKey, newSession: SessionId): Promise<Begun> {
  const { keys, clock } = shard;
  const chat = chatOf(lane);
  const { inbound, poisonCandidates, absent, paused, gone } = keys;
  const at = [inbound, keys.turn(entry), keys.lane(lane), keys.chat(chat), poisonCandidates, absent, paused, gone];
  const prefixes = [keys.chatPrefix, keys.lanePrefix, keys.turnPrefix];
  const ids = [CRASHES_OF_CANDIDATE, randomUUID(), lane, ...prefixes, chat];
  const noSession = '' as SessionId;
  const args = [entry, newSession, keys.session(noSession), ...ids, keys.log(noSession)];
  const reply = await clock.learn(() => shard.begin(at, args), timeOf);
  if (reply[0] !== 'begun') return notBegun(reply);
  const [, , currentChat, entryFields, turnFields, session, sessionFields, chatFields, messagesBehind, absence] = reply;
  const fields = {
    entryFields: fieldsOf(entryFields),
    turnFields: fieldsOf(turnFields),
    sessionFields: fieldsOf(sessionFields),
    chatFields: fieldsOf(chatFields),
  };
  const writes = fencedWrites(shard.write, [keys.turn(entry), keys.absent], fields.turnFields.get('fence') ?? '');
  const source = { keys, chats: shard.chats, nowMs: clock.nowMs };
  const state = { entry, lane, currentChat, session, messagesBehind, absence, ...fields };
  return { kind: 'begun', turn: new Turn(state, source, writes) };
}

function timeOf(reply: BeginReply): number | undefined {
  return reply[0] === 'begun' || reply[0] === 'poison candidate' ? reply[1] : undefined;
}

function notBegun(reply: Exclude<BeginReply, ['begun', ...unknown[]]>): Begun {
  if (reply[0] === 'poison candidate' || reply[0] === 'fenced' || reply[0] === 'paused') return { kind: reply[0] };
  const [kind, head, ...rest] = reply;
  return head === '' ? { kind: 'settled' } : { kind, head: headOf([head, ...rest]) };
}
