/** The Redis keys of one shard. All of them carry the shard's hash tag, so that every script is atomic on a cluster. */
export type Keys = Readonly<ReturnType<typeof keysOf>>;

/** The keys of one shard. */
export function keysOf(shard: number) {
  const keys = built[shard] ?? buildKeys(shard);
  built[shard] = keys;
  return keys;
}

/** By shard. */
const built: ReturnType<typeof buildKeys>[] = [];

/** Builds the keys of one shard. The only place that spells our keys. */
function buildKeys(shard: number) {
  const tag = `{sw:${shard}}`;
  return {
    ...flowKeys(tag),
    ...chatKeys(tag),
    ...installationKeys(tag),
    ...SPENDING,
    /**
     * A key that never exists. A script that reaches keys which it cannot name beforehand also names this one. While a
     * cluster moves the shard to another node key by key, the script is then deferred as a whole, instead of failing
     * half-way at the first key that has moved.
     */
    absent: `${tag}:absent`,
  };
}

/** Messages on their way. */
function flowKeys(tag: string) {
  return {
    /** Prefix for BullMQ, which builds `<prefix>:<queue>:…` from it. */
    queuePrefix: tag,
    ...{ inbound: `${tag}:inbound`, outcomes: `${tag}:outcomes`, events: `${tag}:events`, dead: `${tag}:dead` },
    /** Stream: alerts that are not in the book of incidents yet. */
    alerts: `${tag}:alerts`,
    /** Hash: how many messages were ever accepted and settled. */
    counts: `${tag}:counts`,
    /** Set of the lanes that hold at least one unanswered message. */
    lanes: `${tag}:lanes`,
    /** Hash: the chats that the operator has paused, and `*` for all of them. */
    paused: `${tag}:paused`,
    /** Hash: when the pause of a chat, or of all of them, was ended last. */
    resumed: `${tag}:resumed`,
    /** What all processes have sent into a group in the present window; expires with it. */
    paced: (chatId: number) => `${tag}:paced:${chatId}`,
    /** Hash: the chats in which the bot cannot write, by their ids; see `state/chat/presence.ts`. */
    gone: `${tag}:gone`,
    /** The last reply to a caller, for the same request sent again: of an admission, or of an operator's cancellation. */
    admitted: (caller: string) => `${tag}:admitted:${caller}`,
    /** Held while one process's pass of the reconciler, or of the blob keeper, counts for all. */
    ...{ pass: `${tag}:pass`, blobPass: `${tag}:blob-pass` },
    /** Sorted set of the messages whose attempts ended with their process, by age. */
    poisonCandidates: `${tag}:poison-candidates`,
    ...{ lanePrefix: `${tag}:lane:`, turnPrefix: `${tag}:turn:` },
    lane: (lane: LaneKey) => `${tag}:lane:${lane}`,
    turn: (entry: EntryId) => `${tag}:turn:${entry}`,
    /** Hash: the entries of neighbouring updates, by `fieldOfUpdate`. */
    updates: (botId: number, updateId: number) =>
      `${tag}:updates:${botId}:${Math.floor(updateId / UPDATES_OF_A_BUCKET)}`,
    /** The entry of a message that was accepted, by its id in its chat; with a prefix where it was accepted as an edit. */
    written: (botId: number, chat: number | ChatKey, messageId: number) =>
      `${tag}:written:${botId}:${chat}:${messageId}`,
    /** Hash: what of a group's sender belongs to an addressed message without being addressed itself. */
    follows: (botId: number, chatId: number, senderId: number) => `${tag}:follows:${botId}:${chatId}:${senderId}`,
  };
}

/** Conversations, and what belongs to a chat. */
function chatKeys(tag: string) {
  return {
    /** Set of the sessions that the archivist is to visit. */
    archivable: `${tag}:archivable`,
    /** Sorted set of the reminders that are to come, `<chat>:<id>`, by their due time in ms. */
    reminders: `${tag}:reminders`,
    ...{ chatPrefix: `${tag}:chat:`, remindersPrefix: `${tag}:reminders:` },
    chat: (chat: ChatKey) => `${tag}:chat:${chat}`,
    /** Set: the erasures since which the files of Redis were not rewritten. */
    erasures: `${tag}:erasures`,
    /** Hash: the reminders of a chat, by id. */
    remindersOf: (chat: ChatKey) => `${tag}:reminders:${chat}`,
    /** Hash: the lines of what is remembered about a chat, by id; and the hash of the changes of it that can be undone. */
    memory: (chat: ChatKey) => `${tag}:memory:${chat}`,
    memoryChanges: (chat: ChatKey) => `${tag}:memory-changes:${chat}`,
    session: (id: SessionId) => `${tag}:session:${id}`,
    log: (id: SessionId) => `${tag}:log:${id}`,
    archive: (id: SessionId) => `${tag}:archive:${id}`,
    /** The pointer to the bytes of a chat's file in the blob store, by their hash. */
    blob: (sha256: string, chat: ChatKey) => `${tag}:blob:${chat}:${sha256}`,
    /** The bytes of a file themselves, where there is no blob store, or from before there was one. */
    media: (sha256: string, chat: ChatKey) => `${tag}:media:${chat}:${sha256}`,
    /** Hash: what the calls for a chat came to on a day, `2026-11-22`. */
    usage: (day: string, chat: ChatKey) => `${tag}:usage:${day}:${chat}`,
    /** That a call is booked. */
    booked: (call: string) => `${tag}:booked:${call}`,
  };
}

/** The keys of which the installation has one each: used in shard 0 only. */
function installationKeys(tag: string) {
  return {
    /** Stream: what operators did with the command line. */
    actions: `${tag}:actions`,
    /** Hash: the people and groups that an operator has let in besides TELEGRAM_ALLOWED_IDS, by their ids. */
    allowed: `${tag}:allowed`,
    /** Hash: which group a supergroup was before, by its id. */
    movedGroups: `${tag}:moved-groups`,
    /** Hash: what the poller last got from Telegram; and the lease of the one process that polls for a bot. */
    ...{ poll: `${tag}:poll`, poller: (botId: number) => `${tag}:poller:${botId}` },
    /** Hash: what the installation knows of whether Telegram answers. */
    telegram: `${tag}:telegram`,
    /** Hash: the book of incidents. */
    incidents: `${tag}:incidents`,
    /** Hash: how the delivery of alerts goes; the lock of the process that delivers. */
    ...{ alerting: `${tag}:alerting`, alertingLock: `${tag}:alerting-lock` },
    /** Hash: how calls to the model succeed and fail; and where each model is in its life, as the endpoint states it. */
    ...{ provider: `${tag}:provider`, models: `${tag}:models` },
    /** Held for the time between two probes of an endpoint in trouble. */
    endpointProbe: `${tag}:endpoint-probe`,
    /** Written and removed to prove that Redis takes writes. */
    checked: `${tag}:checked`,
    /** Sorted set of the worker processes, by the time of their last heartbeat. */
    workers: `${tag}:workers`,
    /** Hash: what runs in each worker process, and where one stood still. */
    running: `${tag}:running`,
    /** Hash: how many bytes of chats each worker process keeps in memory, and of how many at most. */
    cached: `${tag}:cached`,
    /** Since a start, until a worker has seen that all began; see `process.ts`. */
    starting: `${tag}:starting`,
    /** The number of shards. */
    shards: `${tag}:shards`,
    /** Hash: which blob store the data refers to. */
    blobStore: `${tag}:blob-store`,
  };
}

/** One place for all shards, so that a script sees the limits of a chat, a person and all at once. */
const SPENDING = {
  /** Hash: what was spent of each limit in a period, `2026-11-22` or `2026-11`. */
  spent: (period: string) => `{sw:0}:spending:${period}`,
  /** Sorted set of what running calls hold of the limits, by when that lapses; and that one of them was settled. */
  reservations: '{sw:0}:reservations',
  settled: (reservation: string) => `{sw:0}:settled:${reservation}`,
};

/** The name of a queue of messages: the key of a chat, its command lane, `-100123!`, or its desk lane, `-100123!!`. */
export type LaneKey = string & { readonly lane: unique symbol };
/**
 * A chat's key in Redis: the chat id, and the topic id where there is one: `-100123` or `-100123.7`. Or a person and a chat
 * that the bot is not part of: `1001@-100123`.
 */
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

/** The key of what a person says to the bot in a chat that it is not part of. All of it belongs to the person. */
export function summonsKey(personId: number, chatId: number): ChatKey {
  return `${personId}@${chatId}` as ChatKey;
}

/** The lane of the commands that act while a message of the chat is being answered. */
export function commandLaneOf(chat: ChatKey): LaneKey {
  return `${chat}!` as LaneKey;
}

/** The lane of what operators do in the chat of alerts: it also runs while every chat is paused. */
export function deskLaneOf(chat: ChatKey): LaneKey {
  return `${chat}!!` as LaneKey;
}

/** All lanes in which messages of a chat wait. */
export function lanesOf(chat: ChatKey): LaneKey[] {
  return [chat, commandLaneOf(chat), deskLaneOf(chat)];
}

/** Whether a lane is one of operators: see `deskLaneOf`. */
export function isDeskLane(lane: LaneKey): boolean {
  return lane.endsWith('!!');
}

/** The chat of a lane. */
export function chatOf(lane: LaneKey): ChatKey {
  return lane.replace(/!{1,2}$/, '') as ChatKey;
}

/** The field of an update in its bucket; see `Keys.updates`. */
export function fieldOfUpdate(updateId: number): number {
  return updateId % UPDATES_OF_A_BUCKET;
}

/** A chat key, read. */
interface ParsedChatKey {
  chat: ChatKey;
  /** The chat that it belongs to: of a summons, that of the person. */
  chatId: number;
  topicId?: number;
  /** The chat that the bot is not part of. */
  summonedTo?: number;
}

/** Reads a chat key from external text; `undefined` when it is none. */
export function parseChatKey(text: string): ParsedChatKey | undefined {
  const match = /^(-?\d{1,16})(?:\.(\d{1,16})|@(-?\d{1,16}))?$/.exec(text);
  if (!match) return undefined;
  const [chatId = 0, topicId, summonedTo] = match.slice(1).map((id) => (id === undefined ? id : Number(id)));
  if (![chatId, topicId ?? 0, summonedTo ?? 0].every(Number.isSafeInteger)) return undefined;
  // "007" names chat 7, whose key is "7": only these make keys.
  if (summonedTo !== undefined) return { chat: summonsKey(chatId, summonedTo), chatId, summonedTo };
  return { chat: chatKey(chatId, topicId), chatId, ...(topicId !== undefined && { topicId }) };
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
