/** The Redis keys of one shard. All of them carry the shard's hash tag, so that every script is atomic on a cluster. */
export interface Keys {
  /** Prefix for BullMQ, which builds `<prefix>:<queue>:…` from it. */
  readonly queuePrefix: string;
  readonly inbound: string;
  readonly outcomes: string;
  readonly events: string;
  readonly alerts: string;
  readonly dead: string;
  /** Hash: how many messages were ever accepted and settled. */
  readonly counts: string;
  /** Set of the lanes that hold at least one unanswered message. */
  readonly lanes: string;
  /** Hash: the chats that the operator has paused, and `*` for all of them. */
  readonly paused: string;
  /** Stream: what operators did with the command line. Used in shard 0 only. */
  readonly actions: string;
  /** The last reply to a caller, for the same request sent again: of an admission, or of an operator's cancellation. */
  admitted(caller: string): string;
  /** Held while one process's pass of the reconciler counts for all. */
  readonly pass: string;
  /** Set of the sessions that the archivist is to visit. */
  readonly archivable: string;
  /** Hash: which group a supergroup was before, by its id. Used in shard 0 only. */
  readonly movedGroups: string;
  /** Hash: what the poller last got from Telegram. Used in shard 0 only. */
  readonly poll: string;
  /** Hash: what the installation knows of whether Telegram answers. Used in shard 0 only. */
  readonly telegram: string;
  /** Hash: the book of incidents. Used in shard 0 only. */
  readonly incidents: string;
  /** Stream of notifications to the operator, and the hash with their delivery state and lock. Used in shard 0 only. */
  readonly notices: string;
  readonly alerting: string;
  readonly alertingLock: string;
  /** Hash: how calls to the model succeed and fail. Used in shard 0 only. */
  readonly provider: string;
  /** Hash: where each model is in its life, as the endpoint states it. Used in shard 0 only. */
  readonly models: string;
  /** Sorted set of the chats that overflowed lately, and the hash of the storm that they make. Used in shard 0 only. */
  readonly overflows: string;
  readonly storm: string;
  /** Written to test whether Redis accepts writes; expires after a second. Used in shard 0 only. */
  readonly checked: string;
  /** Sorted set of the worker processes, by the time of their last heartbeat. Used in shard 0 only. */
  readonly workers: string;
  /** Since a start, until a worker has seen that all began; see `process.ts`. Used in shard 0 only. */
  readonly starting: string;
  /** Held for the time between two probes of an endpoint in trouble. Used in shard 0 only. */
  readonly endpointProbe: string;
  /** Hash: what runs in each worker process, and where one stood still. Used in shard 0 only. */
  readonly running: string;
  /** The number of shards. Used in shard 0 only. */
  readonly shards: string;
  /**
   * A key that never exists. A script that reaches keys which it cannot name beforehand also names this one. While a
   * cluster moves the shard to another node key by key, the script is then deferred as a whole, instead of failing
   * half-way at the first key that has moved.
   */
  readonly absent: string;
  /** Hash: which blob store the data refers to. Used in shard 0 only. */
  readonly blobStore: string;
  /** Held while one process's pass of the blob keeper counts for all. */
  readonly blobPass: string;
  /** Sorted set of the messages whose attempts ended with their process, by age. */
  readonly poisonCandidates: string;
  /** Sorted set of the reminders that are to come, `<chat>:<id>`, by their due time in ms. */
  readonly reminders: string;
  readonly lanePrefix: string;
  readonly turnPrefix: string;
  readonly chatPrefix: string;
  readonly remindersPrefix: string;
  /** Hash: the entries of neighbouring updates, by `fieldOfUpdate`. */
  updates(botId: number, updateId: number): string;
  /**
   * The entry of a message that was accepted, by its id in its chat; with a prefix where it was accepted as an edit.
   */
  written(botId: number, chatId: number, messageId: number): string;
  /** Hash: what of a group's sender belongs to an addressed message without being addressed itself. */
  follows(botId: number, chatId: number, senderId: number): string;
  lane(lane: LaneKey): string;
  turn(entry: EntryId): string;
  chat(chat: ChatKey): string;
  /** Hash: the reminders of a chat, by id. */
  remindersOf(chat: ChatKey): string;
  session(id: SessionId): string;
  log(id: SessionId): string;
  /** The pointer to the bytes of a chat's file in the blob store, by their hash. */
  blob(sha256: string, chat: ChatKey): string;
  /** The bytes of a file themselves, where there is no blob store, or from before there was one. */
  media(sha256: string, chat: ChatKey): string;
  archive(id: SessionId): string;
  /** The lease of the one process that polls for a bot. Used in shard 0 only. */
  poller(botId: number): string;
  /** Hash: what the calls for a chat came to on a day, `2026-11-22`. */
  usage(day: string, chat: ChatKey): string;
  /**
   * Hash: what was spent of each limit in a period, `2026-11-22` or `2026-11`. One place for all shards, so that a
   * script sees the limits of a chat, a person and all at once.
   */
  spent(period: string): string;
  /** Sorted set of what running calls hold of the limits, by when that lapses; and that one of them was settled. */
  readonly reservations: string;
  settled(reservation: string): string;
}

/** The name of a queue of messages: the key of a chat, or its command lane, `-100123!`. */
export type LaneKey = string & { readonly lane: unique symbol };
/** A chat's key in Redis: the chat id, and the topic id where there is one: `-100123` or `-100123.7`. */
export type ChatKey = LaneKey & { readonly chat: unique symbol };
/** The id of an entry of the inbound stream: `<ms>-<n>`. */
export type EntryId = string & { readonly entry: unique symbol };
/** The id of a session. */
export type SessionId = string & { readonly session: unique symbol };

/** The stream's consumer group; every dispatcher reads as the same consumer, because admission is one atomic step. */
export const INBOUND_GROUP = 'dispatcher';

/** A hash of no more fields than this is one short string for every version of Redis: an eighth of what keys of their own take. */
const UPDATES_OF_A_BUCKET = 128;

/** Name of the BullMQ queue of each shard. */
export const TURNS_QUEUE = 'turns';

/** The key of a chat, or of one topic in it. */
export function chatKey(chatId: number, topicId?: number): ChatKey {
  return (topicId === undefined ? `${chatId}` : `${chatId}.${topicId}`) as ChatKey;
}

/** The lane of the commands that act while a message of the chat is being answered. */
export function commandLaneOf(chat: ChatKey): LaneKey {
  return `${chat}!` as LaneKey;
}

/** The chat of a lane. */
export function chatOf(lane: LaneKey): ChatKey {
  return (lane.endsWith('!') ? lane.slice(0, -1) : lane) as ChatKey;
}

/** The field of an update in its bucket; see `Keys.updates`. */
export function fieldOfUpdate(updateId: number): number {
  return updateId % UPDATES_OF_A_BUCKET;
}

/** Reads a chat key from external text; `undefined` when it is none. */
export function parseChatKey(text: string): { chat: ChatKey; chatId: number; topicId?: number } | undefined {
  const match = /^(-?\d{1,16})(?:\.(\d{1,16}))?$/.exec(text);
  if (!match) return undefined;
  const chatId = Number(match[1]);
  const topicId = match[2] === undefined ? undefined : Number(match[2]);
  // "007" names chat 7, whose key is "7": only `chatKey` makes keys.
  const chat = chatKey(chatId, topicId);
  if (!Number.isSafeInteger(chatId) || (topicId !== undefined && !Number.isSafeInteger(topicId))) return undefined;
  return { chat, chatId, ...(topicId !== undefined && { topicId }) };
}

/** The id of the BullMQ job of an entry: no `:` and no integer, both of which BullMQ refuses. */
export function jobIdOf(entry: EntryId): string {
  return `m-${entry}`;
}

/** The entry of a job. */
export function entryOfJob(id: string): EntryId {
  return id.slice('m-'.length) as EntryId;
}

/** The shard that holds a chat: all topics of a chat share it, and the hash never changes between versions. */
export function shardOf(chatId: number, shards: number): number {
  let hash = 0x811c9dc5;
  for (const digit of String(chatId)) hash = Math.imul(hash ^ digit.charCodeAt(0), 0x01000193);
  return (hash >>> 0) % shards;
}

/** Builds the keys of one shard. The only place that spells our keys. */
export function keysOf(shard: number): Keys {
  const tag = `{sw:${shard}}`;
  return {
    queuePrefix: tag,
    inbound: `${tag}:inbound`,
    outcomes: `${tag}:outcomes`,
    events: `${tag}:events`,
    alerts: `${tag}:alerts`,
    dead: `${tag}:dead`,
    counts: `${tag}:counts`,
    lanes: `${tag}:lanes`,
    paused: `${tag}:paused`,
    actions: `${tag}:actions`,
    pass: `${tag}:pass`,
    archivable: `${tag}:archivable`,
    ...{ movedGroups: `${tag}:moved-groups`, poll: `${tag}:poll` },
    telegram: `${tag}:telegram`,
    incidents: `${tag}:incidents`,
    notices: `${tag}:notices`,
    alerting: `${tag}:alerting`,
    alertingLock: `${tag}:alerting-lock`,
    ...{ provider: `${tag}:provider`, models: `${tag}:models` },
    workers: `${tag}:workers`,
    running: `${tag}:running`,
    ...{ checked: `${tag}:checked`, starting: `${tag}:starting`, endpointProbe: `${tag}:endpoint-probe` },
    overflows: `${tag}:overflows`,
    storm: `${tag}:storm`,
    shards: `${tag}:shards`,
    absent: `${tag}:absent`,
    blobStore: `${tag}:blob-store`,
    blobPass: `${tag}:blob-pass`,
    poisonCandidates: `${tag}:poison-candidates`,
    reminders: `${tag}:reminders`,
    lanePrefix: `${tag}:lane:`,
    turnPrefix: `${tag}:turn:`,
    chatPrefix: `${tag}:chat:`,
    remindersPrefix: `${tag}:reminders:`,
    admitted: (caller) => `${tag}:admitted:${caller}`,
    updates: (botId, updateId) => `${tag}:updates:${botId}:${Math.floor(updateId / UPDATES_OF_A_BUCKET)}`,
    written: (botId, chatId, messageId) => `${tag}:written:${botId}:${chatId}:${messageId}`,
    follows: (botId, chatId, senderId) => `${tag}:follows:${botId}:${chatId}:${senderId}`,
    lane: (lane) => `${tag}:lane:${lane}`,
    turn: (entry) => `${tag}:turn:${entry}`,
    chat: (chat) => `${tag}:chat:${chat}`,
    remindersOf: (chat) => `${tag}:reminders:${chat}`,
    session: (id) => `${tag}:session:${id}`,
    log: (id) => `${tag}:log:${id}`,
    blob: (sha256, chat) => `${tag}:blob:${chat}:${sha256}`,
    media: (sha256, chat) => `${tag}:media:${chat}:${sha256}`,
    archive: (id) => `${tag}:archive:${id}`,
    poller: (botId) => `${tag}:poller:${botId}`,
    usage: (day, chat) => `${tag}:usage:${day}:${chat}`,
    spent: (period) => `{sw:0}:spending:${period}`,
    reservations: '{sw:0}:reservations',
    settled: (reservation) => `{sw:0}:settled:${reservation}`,
  };
}

/** A file is named within its chat. */
