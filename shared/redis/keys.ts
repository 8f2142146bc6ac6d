/** The Redis keys of one shard. All of them carry the shard's hash tag, so that every script is atomic on a cluster. */
export type Keys = Readonly<ReturnType<typeof keysOf>>;

/** The keys of one shard. */
export function keysOf(shard: number) {
  const keys = cachedKeys[shard] ?? buildKeys(shard);
  cachedKeys[shard] = keys;
  return keys;
}

/** By shard. */
const cachedKeys: ReturnType<typeof buildKeys>[] = [];

/** Builds the keys of one shard. No other code spells Redis keys. */
function buildKeys(shard: number) {
  const tag = `{sw:${shard}}`;
  return {
    ...flowKeys(tag),
    ...chatKeys(tag),
    ...installationKeys(tag),
    ...SPENDING,
    /**
     * A key that never exists. A script that accesses keys not listed in its KEYS lists this key, too. While a cluster moves
     * the shard to another node, key by key, Redis then defers the whole script. Otherwise the script would fail half-way, at
     * the first key that has moved.
     */
    absent: `${tag}:absent`,
  };
}

/** Keys of the flow of messages. */
function flowKeys(tag: string) {
  return {
    /** Prefix for BullMQ, which builds `<prefix>:<queue>:…` from it. */
    queuePrefix: tag,
    ...{ inbound: `${tag}:inbound`, outcomes: `${tag}:outcomes`, events: `${tag}:events`, dead: `${tag}:dead` },
    /** Stream: alerts that are not in the book of incidents yet. */
    alerts: `${tag}:alerts`,
    /** Hash: the counts of messages ever accepted and settled. */
    counts: `${tag}:counts`,
    /** Set of the lanes that hold at least one unanswered message. */
    lanes: `${tag}:lanes`,
    /** Hash: the chats that the operator has paused, and `*` for all of them. */
    paused: `${tag}:paused`,
    /** Hash: the time at which the last pause of a chat, or of all of them, ended. */
    resumed: `${tag}:resumed`,
    /** The number of sends of all processes to a group in the present window; expires with the window. */
    paced: (chatId: number) => `${tag}:paced:${chatId}`,
    /** Sorted set of the chats that the bot cannot write to, by time; see `notePresence` in `state/chat/chat.ts`. */
    gone: `${tag}:gone`,
    /** The last reply to a caller of `admit.lua` or `cancel-chat.lua`, for a request that is sent again. */
    admitted: (caller: string) => `${tag}:admitted:${caller}`,
    /** Locks of the passes of the reconciler and of the blob keeper; see `createPasses`. */
    ...{ pass: `${tag}:pass`, blobPass: `${tag}:blob-pass` },
    /** Sorted set of the poison candidates, by age. */
    poisonCandidates: `${tag}:poison-candidates`,
    ...{ lanePrefix: `${tag}:lane:`, turnPrefix: `${tag}:turn:` },
    lane: (lane: LaneKey) => `${tag}:lane:${lane}`,
    turn: (entry: EntryId) => `${tag}:turn:${entry}`,
    /** Hash: the entries of neighbouring updates, by `fieldOfUpdate`. */
    updates: (botId: number, updateId: number) =>
      `${tag}:updates:${botId}:${Math.floor(updateId / UPDATES_OF_A_BUCKET)}`,
    /** The entry of an accepted message, by its id in its chat; `edited:<entry>` if an edit of it was accepted first. */
    written: (botId: number, chat: number | ChatKey, messageId: number) =>
      `${tag}:written:${botId}:${chat}:${messageId}`,
    /** Hash: the marks of messages that may follow a sender's addressed message in a group; see `Expected` in `inbox.ts`. */
    follows: (botId: number, chatId: number, senderId: number) => `${tag}:follows:${botId}:${chatId}:${senderId}`,
  };
}

/** Keys of chats and their conversations. */
function chatKeys(tag: string) {
  return {
    /** Set of the sessions with records that may be archived. */
    archivable: `${tag}:archivable`,
    /** Sorted set of the pending reminders, `<chat>:<id>`, by their due time in ms. */
    reminders: `${tag}:reminders`,
    ...{ chatPrefix: `${tag}:chat:`, remindersPrefix: `${tag}:reminders:` },
    chat: (chat: ChatKey) => `${tag}:chat:${chat}`,
    /** Set of random ids, one for each erasure since the last rewrite of Redis' files. */
    erasures: `${tag}:erasures`,
    /** Hash: the reminders of a chat, by id. */
    remindersOf: (chat: ChatKey) => `${tag}:reminders:${chat}`,
    /** Hashes: the lines of a chat's memory, and the changes of them that can be undone, both by id. */
    memory: (chat: ChatKey) => `${tag}:memory:${chat}`,
    memoryChanges: (chat: ChatKey) => `${tag}:memory-changes:${chat}`,
    session: (id: SessionId) => `${tag}:session:${id}`,
    log: (id: SessionId) => `${tag}:log:${id}`,
    archive: (id: SessionId) => `${tag}:archive:${id}`,
    /** The pointer to the bytes of a chat's file in the blob store, by their hash. */
    blob: (sha256: string, chat: ChatKey) => `${tag}:blob:${chat}:${sha256}`,
    /** The bytes of a file, without a blob store or from before it was set. */
    media: (sha256: string, chat: ChatKey) => `${tag}:media:${chat}:${sha256}`,
    /** Hash: the sums of the calls for a chat on a day, `2026-11-22`. */
    usage: (day: string, chat: ChatKey) => `${tag}:usage:${day}:${chat}`,
    /** The mark of a booked call. */
    booked: (call: string) => `${tag}:booked:${call}`,
  };
}

/** Keys of the whole installation: used in shard 0 only. */
function installationKeys(tag: string) {
  return {
    /** Stream: the operators' actions. */
    actions: `${tag}:actions`,
    /** Hash: the people and groups that operators added to TELEGRAM_ALLOWED_IDS, by their ids. */
    allowed: `${tag}:allowed`,
    /** Hash: the former group of each supergroup, by the supergroup's id. */
    movedGroups: `${tag}:moved-groups`,
    /** Hash: the receiver's last events; and the lease of the one process that polls for a bot. */
    ...{ poll: `${tag}:poll`, poller: (botId: number) => `${tag}:poller:${botId}` },
    /** Hash: the state of Telegram's breaker. */
    telegram: `${tag}:telegram`,
    /** Hash: the book of incidents. */
    incidents: `${tag}:incidents`,
    /** Hash: the state of alert delivery; and the lock of the process that delivers. */
    ...{ alerting: `${tag}:alerting`, alertingLock: `${tag}:alerting-lock` },
    /** Hashes: the results of model calls, with open breakers; and the lifecycle of each model. */
    ...{ provider: `${tag}:provider`, models: `${tag}:models` },
    /** Lock: the pause between two probes of a failing endpoint. */
    endpointProbe: `${tag}:endpoint-probe`,
    /** Written and removed to prove that Redis accepts writes. */
    checked: `${tag}:checked`,
    /** Sorted set of the worker processes, by the time of their last heartbeat. */
    workers: `${tag}:workers`,
    /** Hash: the running messages of each worker process, and the place in the code at which one froze. */
    running: `${tag}:running`,
    /** Hash: the cache use of each worker process. */
    cached: `${tag}:cached`,
    /** Exists from the start of a worker until its start has succeeded; see `process.ts`. */
    starting: `${tag}:starting`,
    /** The number of shards. */
    shards: `${tag}:shards`,
    /** Hash: the blob store that the data refers to. */
    blobStore: `${tag}:blob-store`,
  };
}

/** Keys of the limits on spending. In shard 0 for all shards, so that one script sees all limits of a payer. */
const SPENDING = {
  /** Hash: the amount spent of each limit in a period, `2026-11-22` or `2026-11`. */
  spent: (period: string) => `{sw:0}:spending:${period}`,
  /** Sorted set of the reservations of running calls, by expiry; and the mark of a settled reservation. */
  reservations: '{sw:0}:reservations',
  settled: (reservation: string) => `{sw:0}:settled:${reservation}`,
};

/** The name of a lane: the chat's key, `-100123`; with `!` of its command lane, with `!!` of its desk lane. */
export type LaneKey = string & { readonly lane: unique symbol };
/** A chat's key: its id, `-100123`; with a topic `-100123.7`; of a summons the person and the other chat, `1001@-100123`. */
export type ChatKey = LaneKey & { readonly chat: unique symbol };
/** The id of an entry of the inbound stream: `<ms>-<n>`. */
export type EntryId = string & { readonly entry: unique symbol };
/** The id of a session. */
export type SessionId = string & { readonly session: unique symbol };

/** The consumer group of the inbound stream. */
export const INBOUND_GROUP = 'dispatcher';

/** Every version of Redis stores a hash of so many fields compactly, in an eighth of the memory of separate keys. */
const UPDATES_OF_A_BUCKET = 128;

/** The name of the BullMQ queue of each shard. */
export const TURNS_QUEUE = 'turns';

/** The key of a chat, or of one topic in it. */
export function chatKey(chatId: number, topicId?: number): ChatKey {
  return (topicId === undefined ? `${chatId}` : `${chatId}.${topicId}`) as ChatKey;
}

/** The key of a person's summonses in a chat that the bot is not part of. Their data belong to the person. */
export function summonsKey(personId: number, chatId: number): ChatKey {
  return `${personId}@${chatId}` as ChatKey;
}

/** The lane of the commands that run while the chat's lane is busy. */
export function commandLaneOf(chat: ChatKey): LaneKey {
  return `${chat}!` as LaneKey;
}

/** The lane of operators' commands in the chat of alerts. Pauses do not stop it. */
export function deskLaneOf(chat: ChatKey): LaneKey {
  return `${chat}!!` as LaneKey;
}

/** All lanes of a chat. */
export function lanesOf(chat: ChatKey): LaneKey[] {
  return [chat, commandLaneOf(chat), deskLaneOf(chat)];
}

/** Whether a lane is a desk lane: see `deskLaneOf`. */
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

/** The parts of a chat key. */
interface ParsedChatKey {
  chat: ChatKey;
  /** The chat that owns the data; of a summons, the person's private chat. */
  chatId: number;
  topicId?: number;
  /** The other chat of a summons. */
  summonedTo?: number;
}

/** Reads a chat key from external text; `undefined` if the text is not one. */
export function parseChatKey(text: string): ParsedChatKey | undefined {
  const match = /^(-?\d{1,16})(?:\.(\d{1,16})|@(-?\d{1,16}))?$/.exec(text);
  if (!match) return undefined;
  const [chatId = 0, topicId, summonedTo] = match.slice(1).map((id) => (id === undefined ? id : Number(id)));
  if (![chatId, topicId ?? 0, summonedTo ?? 0].every(Number.isSafeInteger)) return undefined;
  // Rebuild the key, because the text may have leading zeros: "007" names chat 7, whose key is "7".
  if (summonedTo !== undefined) return { chat: summonsKey(chatId, summonedTo), chatId, summonedTo };
  return { chat: chatKey(chatId, topicId), chatId, ...(topicId !== undefined && { topicId }) };
}

/** The id of the BullMQ job of an entry. BullMQ refuses ids with a `:` and integers. */
export function jobIdOf(entry: EntryId): string {
  return `m-${entry}`;
}

/** The entry of a job. */
export function entryOfJob(id: string): EntryId {
  return id.slice('m-'.length) as EntryId;
}

/** The shard of a chat and all of its topics. The hash function must never change. */
export function shardOf(chatId: number, shards: number): number {
  let hash = 0x811c9dc5;
  for (const digit of String(chatId)) hash = Math.imul(hash ^ digit.charCodeAt(0), 0x01000193);
  return (hash >>> 0) % shards;
}
