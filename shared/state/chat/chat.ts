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

/** The choices that people make for a chat with a command. The names are the fields of its hash. */
const CHOICES = ['language', 'model', 'busy', 'timezone'] as const;
export type Choice = (typeof CHOICES)[number];

/**
 * How messages that come while one is being answered are treated: each waits for its turn, all that wait are answered
 * together, or the running turn is cut short and answered together with them.
 */
export const BUSY_WAYS = ['queue', 'merge', 'interrupt'] as const;

/** How many messages of the chat its full lane refused since a reply said so last: `admit.lua` counts them. */
const LANE_REFUSALS = 'laneRefusals';
const GRANTS = 'toolGrants';
const REFUSED_ANSWERS = 'refusedAnswers';
/** Grants by name alone, which early builds of 0.4 wrote: nobody reads them. */
const FORMER_GRANTS = 'usualTools';
const FORGOTTEN = [REFUSED_ANSWERS, LANE_REFUSALS, GRANTS, FORMER_GRANTS];

type ShardKeys = Pick<Keys, 'chat'>;

/** Verbs of one chat, for a fenced write. With the keys of an attempt, the chat is the one that owns the session. */
export function chatState(keys: ShardKeys, chat: ChatKey) {
  const key = keys.chat(chat);
  return {
    /** The chat goes on in another session. */
    moveTo: (session: SessionId): Change => ['HSET', key, 'session', session],
    /** The same, where it has none yet. */
    beginIn: (session: SessionId): Change => ['HSETNX', key, 'session', session],
    choose: (choice: Choice, value: string): Change => ['HSET', key, choice, value],
    /** The tools that may be used without asking are these. */
    grantTools: (grants: readonly ToolGrant[]): Change =>
      grants.length === 0 ? ['HDEL', key, GRANTS] : ['HSET', key, GRANTS, JSON.stringify(grants)],
    /** The condition that the grants are still those that were read. */
    hasGrants: (grants: readonly ToolGrant[]): Expected => [key, GRANTS, JSON.stringify(grants)],
    leaveToDefault: (choice: Choice): Change => ['HDEL', key, choice],
    /** The factor for our estimates, learnt from real usage. */
    calibrate: (factor: number): Change => ['HSET', key, 'calibration', factor.toFixed(4)],
    /** Telegram asked to send nothing to the chat until then. */
    keepQuietUntil: (ms: number): Change => ['HSET', key, 'quietUntilMs', ms],
    /** The answers to these messages were refused: they are put back when the chat takes another one. */
    noteRefusedAnswers: (entries: readonly EntryId[]): Change => ['HSET', key, REFUSED_ANSWERS, entries.join(' ')],
    forgetRefusedAnswers: (): Change => ['HDEL', key, REFUSED_ANSWERS],
    /** A reply says that so many messages were refused. */
    reportLaneRefusals: (count: number): Change => ['HINCRBY', key, LANE_REFUSALS, -count],
    /** The group continues as a supergroup: see `begin.lua`. */
    becomes: (supergroup: ChatKey): Change[] => [
      ['HSET', keys.chat(supergroup), 'movedFrom', chat],
      ['HSET', key, 'movedTo', supergroup],
    ],
    /** All but what is no content: where the chat moved, and until when it is left alone. */
    forget: (): Change => ['HDEL', key, 'session', 'calibration', ...FORGOTTEN, ...CHOICES],
    /** The condition that the chat is still in a session. */
    isIn: (session: SessionId): Expected => [key, 'session', session],
    /** The condition that the choice still stands. */
    hasChosen: (choice: Choice, value: string): Expected => [key, choice, value],
  };
}

/** The stored fields of a chat. */
interface ChatFields {
  readonly session: SessionId | undefined;
  /** Absent before the first answer. */
  readonly calibration: number | undefined;
  /** 0: something may be sent now. */
  readonly quietUntilMs: number;
  /** The messages whose answers are put back when the chat takes another one, oldest first. */
  readonly refusedAnswers: readonly EntryId[];
  /** The supergroup that the group became, and the group that it was. */
  readonly movedTo: ChatKey | undefined;
  readonly movedFrom: ChatKey | undefined;
  /** How many of its messages a full lane refused that no reply has reported yet. */
  readonly laneRefusals: number;
  readonly choice: (name: Choice) => string | undefined;
  readonly toolGrants: readonly ToolGrant[];
}

/** Reads the fields of a chat's hash, where it has any. Pure. */
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

/** Reads a chat; `undefined` where nothing is stored of it. Rejects when Redis cannot be reached. */
export async function readChatFields(
  redis: Pick<RedisClient, 'hgetall'>,
  keys: ShardKeys,
  chat: ChatKey,
): Promise<ChatFields | undefined> {
  const fields = new Map(Object.entries(await redis.hgetall(keys.chat(chat))));
  return fields.size === 0 ? undefined : chatFieldsOf(fields);
}

/** The session that a chat is in. Rejects when Redis cannot be reached. */
export async function sessionOf(
  redis: Pick<RedisClient, 'hget'>,
  keys: ShardKeys,
  chat: ChatKey,
): Promise<SessionId | undefined> {
  return ((await redis.hget(keys.chat(chat), 'session')) ?? undefined) as SessionId | undefined;
}

/** A chat, and the group that it was before: what is kept may stand under either. Rejects when Redis cannot be reached. */
export async function withFormerGroup(
  redis: Pick<RedisClient, 'hget'>,
  keys: ShardKeys,
  chat: ChatKey,
): Promise<ChatKey[]> {
  const group = (await redis.hget(keys.chat(chat), 'movedFrom')) as ChatKey | null;
  return [chat, ...(group === null ? [] : [group])];
}

/** The groups that became supergroups, by their ids. Methods reject when Redis cannot be reached. */
export function movedGroups(redis: Pick<RedisClient, 'hget' | 'hset'>) {
  const key = keysOf(0).movedGroups;
  return {
    async add(from: number, to: number): Promise<void> {
      await redis.hset(key, to, from);
    },
    /** The group that a supergroup was. */
    async formerOf(to: number): Promise<number | undefined> {
      const from = await redis.hget(key, String(to));
      return from === null ? undefined : Number(from);
    },
  };
}

/** What Telegram says of the bot in a chat: that it was blocked or removed, or that it may write again. */
export interface Presence {
  chatId: number;
  isGone: boolean;
  /** A full second. */
  atMs: number;
}

/**
 * Notes whether the bot may write in a chat: of what comes in any order, or again, the newest stands, and of one second
 * the return. The ids of updates say nothing of it, since they begin anew after a quiet week. Rejects when Redis cannot be
 * reached.
 */
export async function notePresence(
  redis: Pick<RedisClient, 'zadd'>,
  shards: number,
  { chatId, isGone, atMs }: Presence,
): Promise<void> {
  await redis.zadd(keysOf(shardOf(chatId, shards)).gone, 'GT', atMs + (isGone ? 0 : 1), chatId);
}

/** The time at which the bot left a chat or was blocked there, in ms since the epoch; 0 while it is a member. Pure. */
export function goneMsOf(noted: string): number {
  return Number(noted) % 2 === 0 ? Number(noted) : 0;
}

/** Where replies to a chat go: to itself, with its topic, or to the supergroup that it became. */
export function destinationOf(chat: ChatKey, migratedTo: number | undefined): Destination {
  const parsed = parseChatKey(chat);
  if (!parsed) throw new Error(`not a chat key: ${chat}`);
  if (migratedTo !== undefined) return { chatId: migratedTo };
  return { chatId: parsed.chatId, ...(parsed.topicId !== undefined && { topicId: parsed.topicId }) };
}
