import {
  type ChatKey,
  commandLaneOf,
  type EntryId,
  keysOf,
  parseChatKey,
  type SessionId,
  shardOf,
} from '../../shared/redis/keys.ts';
import { EVERY_CHAT, type Pause, readPauses } from '../../shared/state/lane/pauses.ts';
import { createChatState, type SessionState } from '../command/chat-state.ts';
import type { OutcomeRecord } from '../lane/lane.ts';
import { createUsageBook, type Used } from '../lane/usage-book.ts';
import { createReminderBook } from '../reminders/book.ts';
import { readInbound } from './inbound.ts';
import { type Place, readPlace } from './place.ts';
import { newestRecords } from './records.ts';
import { nowOf, type ReportSource } from './source.ts';
import { readTurn } from './turn.ts';

/** The state of one chat. Times are ms since the epoch. */
export interface ChatReport {
  chat: ChatKey;
  shard: number;
  /** How many messages stand in its lanes, the one that is being answered and commands included. */
  waiting: number;
  /** The message that is first, and where it is. */
  head?: { entry: EntryId; acceptedMs: number; place: Place };
  /** Absent when nothing was ever said. */
  session?: SessionState & { id: SessionId; bytes: number };
  /** The newest first. */
  outcomes: OutcomeRecord[];
  /** Recoveries of the messages in `outcomes`. */
  recoveries: number;
  /** Of this day, of UTC. */
  today: Used;
  deadLetters: number;
  reminders: number;
  pause?: Pause;
  /** The other id of a group that became a supergroup. */
  movedTo?: ChatKey;
  movedFrom?: ChatKey;
}

const OUTCOMES_SHOWN = 10;
/** How far back the ledger is read: a quiet chat of a busy installation has no newer outcomes. */
const LOOKED_AT_MAX = 50_000;

/** Reads the state of a chat; `undefined` when nothing is known of it. */
export async function readChat({ redis, shards }: ReportSource, chat: ChatKey): Promise<ChatReport | undefined> {
  const shard = shardOf(parseChatKey(chat)?.chatId ?? 0, shards);
  const keys = keysOf(shard);
  const nowMs = await nowOf(redis, keys.lanes);
  const pointer = await redis.hgetall(keys.chat(chat));
  const [depth, commands, head, outcomes, today, deadLetters, reminders, pauses, session] = await Promise.all([
    redis.llen(keys.lane(chat)),
    redis.llen(keys.lane(commandLaneOf(chat))),
    readHead(redis, keys, chat),
    newestOf(redis, keys.outcomes, chat),
    createUsageBook(redis, keys).ofDays((pointer.movedTo as ChatKey) ?? chat, 1, nowMs),
    countLetters(redis, keys.dead, chat),
    createReminderBook(redis, keys).of(chat),
    readPauses(redis, keys),
    readSession(redis, keys, pointer.session as SessionId | undefined),
  ]);
  const isKnown = session || head || outcomes.length > 0 || Object.keys(pointer).length > 0 || deadLetters > 0;
  if (!isKnown) return undefined;
  const pause = pauses.find((each) => each.chat === EVERY_CHAT || each.chat === chat);
  return {
    ...{ chat, shard, waiting: depth + commands, ...(head && { head }), ...(session && { session }), outcomes },
    recoveries: outcomes.reduce((sum, { recoveries: each }) => sum + each, 0),
    ...{ today: today[0] ?? NOTHING_USED, deadLetters, reminders: reminders.length, ...(pause && { pause }) },
    ...(pointer.movedTo !== undefined && { movedTo: pointer.movedTo as ChatKey }),
    ...(pointer.movedFrom !== undefined && { movedFrom: pointer.movedFrom as ChatKey }),
  };
}

const NOTHING_USED: Used = { calls: 0, inputTokens: 0, outputTokens: 0, dollars: 0, unpricedCalls: 0 };

type Redis = ReportSource['redis'];
type ShardKeys = ReturnType<typeof keysOf>;

async function readHead(redis: Redis, keys: ShardKeys, chat: ChatKey): Promise<ChatReport['head']> {
  const entry = (await redis.lindex(keys.lane(chat), 0)) as EntryId | null;
  const inbound = entry === null ? undefined : await readInbound(redis, keys, entry);
  if (!inbound) return undefined;
  const place = await readPlace(redis, keys, inbound, await readTurn(redis, keys, inbound.entry));
  return { entry: inbound.entry, acceptedMs: inbound.acceptedMs, place };
}

async function readSession(redis: Redis, keys: ShardKeys, id: SessionId | undefined): Promise<ChatReport['session']> {
  if (id === undefined) return undefined;
  const [state, bytes] = await Promise.all([
    createChatState(redis, keys).session(id),
    redis.hget(keys.session(id), 'bytes'),
  ]);
  return { id, bytes: Number(bytes ?? 0), ...state };
}

async function newestOf(redis: Redis, stream: string, chat: ChatKey): Promise<OutcomeRecord[]> {
  const found: OutcomeRecord[] = [];
  for await (const record of newestRecords<OutcomeRecord>(redis, stream, LOOKED_AT_MAX)) {
    if (record.chat === chat) found.push(record);
    if (found.length === OUTCOMES_SHOWN) break;
  }
  return found;
}

async function countLetters(redis: Redis, stream: string, chat: ChatKey): Promise<number> {
  let letters = 0;
  for await (const record of newestRecords<OutcomeRecord>(redis, stream, LOOKED_AT_MAX))
    if (record.chat === chat) letters += 1;
  return letters;
}
