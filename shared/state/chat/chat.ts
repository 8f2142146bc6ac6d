import type { RedisClient } from '../../redis/connection.ts';
import {
  type ChatKey,
  type EntryId,
  type Keys,
  keysOf,
  parseChatKey,
  type SessionId,
  shardOf,
} from '../../redis/keys.ts';
import type { Destination } from '../../telegram/messages.ts';
import type { Change, Expected } from '../change.ts';
import type { ToolGrant } from './tool-grants.ts';

/** The choices that people make for a chat with a command. They are fields of the chat's hash. */
const CHOICES = ['language', 'model', 'busy', 'timezone'] as const;
export type Choice = (typeof CHOICES)[number];

/**
 * The ways to treat messages that arrive during a turn (/busy). `queue`: each waits for its own turn. `merge`: one answer
 * serves all waiting messages. `interrupt`: the turn stops, and one answer serves its message and the waiting ones.
 */
export const BUSY_WAYS = ['queue', 'merge', 'interrupt'] as const;

/** The field with the number of messages that the chat's full lane refused and that no reply has reported yet. */
const LANE_REFUSALS = 'laneRefusals';
const GRANTS = 'toolGrants';
const REFUSED_ANSWERS = 'refusedAnswers';
/** The field for grants without a definition. Early builds of 0.4 wrote it; this version only removes it. */
const FORMER_GRANTS = 'usualTools';
const FIELDS_TO_FORGET = [REFUSED_ANSWERS, LANE_REFUSALS, GRANTS, FORMER_GRANTS];

type ShardKeys = Pick<Keys, 'chat'>;

/** Changes to a chat, and conditions, for a fenced write. With `keys` of a turn, the turn's `chat` means its `currentChat`. */
export function chatState(keys: ShardKeys, chat: ChatKey) {
  const key = keys.chat(chat);
  return {
    /** Moves the chat to another session. */
    moveTo: (session: SessionId): Change => ['HSET', key, 'session', session],
    /** Moves the chat to a session if it has none yet. */
    beginIn: (session: SessionId): Change => ['HSETNX', key, 'session', session],
    choose: (choice: Choice, value: string): Change => ['HSET', key, choice, value],
    /** Replaces the chat's grants. */
    grantTools: (grants: readonly ToolGrant[]): Change =>
      grants.length === 0 ? ['HDEL', key, GRANTS] : ['HSET', key, GRANTS, JSON.stringify(grants)],
    /** Condition of a write: the chat's grants are exactly `grants`, which must not be empty. */
    expectGrants: (grants: readonly ToolGrant[]): Expected => [key, GRANTS, JSON.stringify(grants)],
    resetChoice: (choice: Choice): Change => ['HDEL', key, choice],
    /** Stores the chat's ratio of tokens used to tokens estimated. */
    calibrate: (factor: number): Change => ['HSET', key, 'calibration', factor.toFixed(4)],
    /** Stores the end of a wait that Telegram demanded for the chat (429). */
    keepQuietUntil: (ms: number): Change => ['HSET', key, 'quietUntilMs', ms],
    /** Stores the messages whose answers Telegram refused, for a replay once the chat accepts another message. */
    noteRefusedAnswers: (entries: readonly EntryId[]): Change => ['HSET', key, REFUSED_ANSWERS, entries.join(' ')],
    forgetRefusedAnswers: (): Change => ['HDEL', key, REFUSED_ANSWERS],
    /** Lowers the chat's count of refused messages by the number that a reply reports. */
    reportLaneRefusals: (count: number): Change => ['HINCRBY', key, LANE_REFUSALS, -count],
    /** Stores, for both chats, that this group became the supergroup. */
    becomes: (supergroup: ChatKey): Change[] => [
      ['HSET', keys.chat(supergroup), 'movedFrom', chat],
      ['HSET', key, 'movedTo', supergroup],
    ],
    /** Removes the chat's data, except `movedTo`, `movedFrom` and `quietUntilMs`. */
    forget: (): Change => ['HDEL', key, 'session', 'calibration', ...FIELDS_TO_FORGET, ...CHOICES],
    /** Condition of a write: the chat is in this session. */
    expectSession: (session: SessionId): Expected => [key, 'session', session],
    /** Condition of a write: the chat's choice has this value. */
    expectChoice: (choice: Choice, value: string): Expected => [key, choice, value],
  };
}

/** The stored fields of a chat. */
interface ChatFields {
  readonly session: SessionId | undefined;
  /** The ratio of tokens used to tokens estimated; absent before the first measurement. */
  readonly calibration: number | undefined;
  /** The end of a wait that Telegram demanded, in ms since the epoch; 0 without one. */
  readonly quietUntilMs: number;
  /** The messages whose answers Telegram refused, oldest first. */
  readonly refusedAnswers: readonly EntryId[];
  /** The supergroup that this group became, if it did. */
  readonly movedTo: ChatKey | undefined;
  /** The group that this supergroup was before, if it was one. */
  readonly movedFrom: ChatKey | undefined;
  /** The number of messages that a full lane refused and no reply has reported yet. */
  readonly laneRefusals: number;
  readonly choice: (name: Choice) => string | undefined;
  readonly toolGrants: readonly ToolGrant[];
}

/** Reads the fields of a chat's hash, which may be empty. Pure. */
export function chatFieldsOf(fields: ReadonlyMap<string, string>): ChatFields {
  const calibration = fields.get('calibration');
  return {
    session: fields.get('session') as SessionId | undefined,
    calibration: calibration === undefined ? undefined : Number(calibration),
    refusedAnswers: (fields.get(REFUSED_ANSWERS)?.split(' ') ?? []) as EntryId[],
    quietUntilMs: Number(fields.get('quietUntilMs') ?? 0),
    movedTo: fields.get('movedTo') as ChatKey | undefined,
    movedFrom: fields.get('movedFrom') as ChatKey | undefined,
    laneRefusals: Math.max(0, Number(fields.get(LANE_REFUSALS) ?? 0)),
    choice: (name) => fields.get(name),
    toolGrants: JSON.parse(fields.get(GRANTS) ?? '[]') as ToolGrant[],
  };
}

/** Reads the stored fields of a chat; `undefined` if there are none. Rejects when Redis cannot be reached. */
export async function readChatFields(
  redis: Pick<RedisClient, 'hgetall'>,
  keys: ShardKeys,
  chat: ChatKey,
): Promise<ChatFields | undefined> {
  const fields = new Map(Object.entries(await redis.hgetall(keys.chat(chat))));
  return fields.size === 0 ? undefined : chatFieldsOf(fields);
}

/** The current session of a chat, if it has one. Rejects when Redis cannot be reached. */
export async function sessionOf(redis: RedisClient, keys: ShardKeys, chat: ChatKey): Promise<SessionId | undefined> {
  return ((await redis.hget(keys.chat(chat), 'session')) ?? undefined) as SessionId | undefined;
}

/** A chat and, if it became a supergroup, its former group. Data may be under either key. Rejects if Redis is unreachable. */
export async function withFormerGroup(redis: RedisClient, keys: ShardKeys, chat: ChatKey): Promise<ChatKey[]> {
  const group = (await redis.hget(keys.chat(chat), 'movedFrom')) as ChatKey | null;
  return [chat, ...(group === null ? [] : [group])];
}

/** The groups that became supergroups, by the ids of the supergroups. Methods reject when Redis cannot be reached. */
export function movedGroups(redis: Pick<RedisClient, 'hget' | 'hset'>) {
  const key = keysOf(0).movedGroups;
  return {
    async add(from: number, to: number): Promise<void> {
      await redis.hset(key, to, from);
    },
    /** The group that a supergroup was before, if known. */
    async formerOf(to: number): Promise<number | undefined> {
      const from = await redis.hget(key, String(to));
      return from === null ? undefined : Number(from);
    },
  };
}

/** A change of the bot's membership in a chat. */
export interface Presence {
  chatId: number;
  /** Whether the bot was blocked or removed; false if it may write again. */
  isGone: boolean;
  /** A full second, in ms since the epoch. */
  atMs: number;
}

/**
 * Stores a change of the bot's membership. Changes may arrive repeatedly and in any order: the newest change counts, and if
 * two have the same second, the return of the bot counts. The times decide, not the ids of the updates, because Telegram
 * may restart these ids after a week without updates. Rejects when Redis cannot be reached.
 */
export async function notePresence(redis: RedisClient, shards: number, presence: Presence): Promise<void> {
  const { chatId, isGone, atMs } = presence;
  await redis.zadd(keysOf(shardOf(chatId, shards)).gone, 'GT', atMs + (isGone ? 0 : 1), chatId);
}

/** When the bot left a chat or was blocked, in ms since the epoch; 0 if it may write (an odd or empty score). Pure. */
export function goneMsOf(score: string): number {
  return Number(score) % 2 === 0 ? Number(score) : 0;
}

/** Where replies to a chat go: to the chat, with its topic, or to the supergroup `migratedTo`. Throws if the key is invalid. */
export function destinationOf(chat: ChatKey, migratedTo: number | undefined): Destination {
  const parsed = parseChatKey(chat);
  if (!parsed) throw new Error(`not a chat key: ${chat}`);
  if (migratedTo !== undefined) return { chatId: migratedTo };
  return { chatId: parsed.chatId, ...(parsed.topicId !== undefined && { topicId: parsed.topicId }) };
}
