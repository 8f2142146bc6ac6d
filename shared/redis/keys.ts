/** The Redis keys of one shard. Its hash tag places them on one node; the keys for spending have the tag of shard 0. */
export type Keys = Readonly<ReturnType<typeof keysOf>>;

/** Returns the keys of a shard. */
export function keysOf(shard: number) {
  const keys = cachedKeys[shard] ?? buildKeys(shard);
  cachedKeys[shard] = keys;
  return keys;
}

/** The keys built so far, by shard. */
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

function flowKeys(tag: string) {
  return {
    /** The prefix of BullMQ's keys: `<prefix>:<queue>:…`. */
    queuePrefix: tag,
    ...{ inbound: `${tag}:inbound`, outcomes: `${tag}:outcomes`, events: `${tag}:events`, dead: `${tag}:dead` },
    /** Stream: alerts that wait to be counted as occurrences of incidents. */
    alerts: `${tag}:alerts`,
    /** Hash: the counts of messages ever accepted and settled. */
    counts: `${tag}:counts`,
    /** Set of the lanes that hold at least one unanswered message. */
    lanes: `${tag}:lanes`,
    /** Hash: the chats that operators have paused, and `*` while all chats are paused. */
    paused: `${tag}:paused`,
    /** Hash: when the last pause of each chat ended, and under `*`, when the last pause for all chats ended. */
    resumed: `${tag}:resumed`,
    /** How often all processes together have sent to a group in the present window of time; expires with the window. */
    paced: (chatId: number) => `${tag}:paced:${chatId}`,
    /** Sorted set of chats by the time at which the bot last left or came back: a full second in ms, plus 1 for a return. */
    gone: `${tag}:gone`,
    /** The last reply of `admit.lua` to a caller, or the entry that a call of `cancel-chat.lua` added, for repeated calls. */
    admitted: (caller: string) => `${tag}:admitted:${caller}`,
    /** Locks, so that one process does a round of the reconciler, or of the blob keeper, for all processes. */
    ...{ pass: `${tag}:pass`, blobPass: `${tag}:blob-pass` },
    /** Sorted set of the messages that may have killed their processes, by time of acceptance. */
    poisonCandidates: `${tag}:poison-candidates`,
    ...{ lanePrefix: `${tag}:lane:`, turnPrefix: `${tag}:turn:` },
    lane: (lane: LaneKey) => `${tag}:lane:${lane}`,
    turn: (entry: EntryId) => `${tag}:turn:${entry}`,
    /** Hash: the entries of accepted updates with neighbouring ids, by `fieldOfUpdate`. */
    updates: (botId: number, updateId: number) =>
      `${tag}:updates:${botId}:${Math.floor(updateId / UPDATES_OF_A_BUCKET)}`,
    /** The entry of a message, by the message's id in its chat; `edited:<the edit's entry>` if an edit was accepted first. */
    written: (botId: number, chat: number | ChatKey, messageId: number) =>
      `${tag}:written:${botId}:${chat}:${messageId}`,
    /** Hash: how to recognise what continues a sender's last message to the bot in a group, e.g. the rest of its album. */
    follows: (botId: number, chatId: number, senderId: number) => `${tag}:follows:${botId}:${chatId}:${senderId}`,
  };
}

function chatKeys(tag: string) {
  return {
    /** Set of the sessions that may have records to archive. */
    archivable: `${tag}:archivable`,
    /** Sorted set of the pending reminders, `<chat>:<id>`, by their due time in ms. */
    reminders: `${tag}:reminders`,
    ...{ chatPrefix: `${tag}:chat:`, remindersPrefix: `${tag}:reminders:` },
    chat: (chat: ChatKey) => `${tag}:chat:${chat}`,
    /** Set of random ids, one for each erasure of a chat since the last rewrite of Redis' files. */
    erasures: `${tag}:erasures`,
    /** Hash: the reminders of a chat, by id. */
    remindersOf: (chat: ChatKey) => `${tag}:reminders:${chat}`,
    /** Hashes: the lines of a chat's memory, and the changes to these lines that can be undone, both by id. */
    memory: (chat: ChatKey) => `${tag}:memory:${chat}`,
    memoryChanges: (chat: ChatKey) => `${tag}:memory-changes:${chat}`,
    session: (id: SessionId) => `${tag}:session:${id}`,
    log: (id: SessionId) => `${tag}:log:${id}`,
    archive: (id: SessionId) => `${tag}:archive:${id}`,
    /** The pointer to the bytes of a chat's file in the blob store, by the hash of the bytes. */
    blob: (sha256: string, chat: ChatKey) => `${tag}:blob:${chat}:${sha256}`,
    /** The bytes of a chat's file if Redis stores them: without a blob store, or from before one was set. */
    media: (sha256: string, chat: ChatKey) => `${tag}:media:${chat}:${sha256}`,
    /** Hash: the sums over a chat's model calls on a day, such as `2026-11-22`. */
    usage: (day: string, chat: ChatKey) => `${tag}:usage:${day}:${chat}`,
    /** Exists for a while once a model call has been added to the sums, so that a repeated request does not add it again. */
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
    /** Hash: the people outside the allow list who asked for access or are ignored, by their ids. */
    strangers: `${tag}:strangers`,
    /** Hash: the former group of each supergroup, by the supergroup's id. */
    movedGroups: `${tag}:moved-groups`,
    /** Hash: the times of the receiver's last events; and the lease of the one process that polls for a bot. */
    ...{ poll: `${tag}:poll`, poller: (botId: number) => `${tag}:poller:${botId}` },
    /** Hash: the state of the breaker for calls of Telegram. */
    telegram: `${tag}:telegram`,
    /** Hash: the incidents, the state of their delivery, and the last alert that was read from each shard. */
    incidents: `${tag}:incidents`,
    /** Hash: the state of the delivery of alerts; and the lock of the process that delivers them. */
    ...{ alerting: `${tag}:alerting`, alertingLock: `${tag}:alerting-lock` },
    /** Hashes: the results of model calls, with the open breakers; and the lifecycle of each model. */
    ...{ provider: `${tag}:provider`, models: `${tag}:models` },
    /** Lock that lasts for the pause between two probes of a failing endpoint. */
    endpointProbe: `${tag}:endpoint-probe`,
    /** A key that is written and removed to check that Redis accepts writes. */
    checked: `${tag}:checked`,
    /** Sorted set of the worker processes, by the time of their last heartbeat. */
    workers: `${tag}:workers`,
    /** Hash: the messages that each worker process is answering, and the place in the code at which a process froze. */
    running: `${tag}:running`,
    /** Hash: each worker process's use of its cache, and its trouble with the export of telemetry. */
    cached: `${tag}:cached`,
    /** Exists from the start of a worker until the start has succeeded, but for ten minutes at most. */
    starting: `${tag}:starting`,
    /** The number of shards. */
    shards: `${tag}:shards`,
    /** Hash: the id of the blob store that the data refers to. */
    blobStore: `${tag}:blob-store`,
  };
}

/** Keys of the limits on spending. They are in shard 0 for all shards, so that one script sees all limits of a payer. */
const SPENDING = {
  /** Hash: how much of each limit has been spent in a period, a day `2026-11-22` or a month `2026-11`. */
  spent: (period: string) => `{sw:0}:spending:${period}`,
  /** Sorted set of the reservations of running calls, by expiry. */
  reservations: '{sw:0}:reservations',
  /** Exists for a while once a reservation has been settled. */
  settled: (reservation: string) => `{sw:0}:settled:${reservation}`,
};

/** The name of a lane: the chat's key, such as `-100123`, with `!` added for the command lane, or `!!` for the desk lane. */
export type LaneKey = string & { readonly lane: unique symbol };
/** A chat's key: its id, `-100123`; with a topic `-100123.7`; for a summons the person and the other chat, `1001@-100123`. */
export type ChatKey = LaneKey & { readonly chat: unique symbol };
/** The id of an entry of the inbound stream: `<ms>-<n>`. */
export type EntryId = string & { readonly entry: unique symbol };
/** The id of a session. */
export type SessionId = string & { readonly session: unique symbol };

/** The consumer group of the inbound stream. */
export const INBOUND_GROUP = 'dispatcher';

/** The number of updates in one hash. Every version of Redis stores them in an eighth of the memory of separate keys. */
const UPDATES_OF_A_BUCKET = 128;

/** The name of the BullMQ queue of each shard. */
export const TURNS_QUEUE = 'turns';

/** The key of a chat, or of one topic in it. */
export function chatKey(chatId: number, topicId?: number): ChatKey {
  return (topicId === undefined ? `${chatId}` : `${chatId}.${topicId}`) as ChatKey;
}

/** The key of a person's summonses in a chat without the bot. Their data counts as the person's, e.g. in an erasure. */
export function summonsKey(personId: number, chatId: number): ChatKey {
  return `${personId}@${chatId}` as ChatKey;
}

/** The lane of the commands that may run while the chat's own lane is busy. */
export function commandLaneOf(chat: ChatKey): LaneKey {
  return `${chat}!` as LaneKey;
}

/** The lane of operators' commands in the operators' chat. A pause does not stop this lane. */
export function deskLaneOf(chat: ChatKey): LaneKey {
  return `${chat}!!` as LaneKey;
}

/** All lanes of a chat. */
export function lanesOf(chat: ChatKey): LaneKey[] {
  return [chat, commandLaneOf(chat), deskLaneOf(chat)];
}

/** Whether a lane is the desk lane of a chat: the lane of operators' commands. */
export function isDeskLane(lane: LaneKey): boolean {
  return lane.endsWith('!!');
}

/** The chat of a lane. */
export function chatOf(lane: LaneKey): ChatKey {
  return lane.replace(/!{1,2}$/, '') as ChatKey;
}

/** The field of an update in the hash that it shares with neighbouring updates, `Keys.updates`. */
export function fieldOfUpdate(updateId: number): number {
  return updateId % UPDATES_OF_A_BUCKET;
}

interface ParsedChatKey {
  chat: ChatKey;
  /** The id of the chat that owns the data: for a summons, the person's private chat. */
  chatId: number;
  topicId?: number;
  /** The id of the other chat; set for a summons only. */
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

/** The id of the BullMQ job of an entry. BullMQ refuses ids that contain a `:` or are integers. */
export function jobIdOf(entry: EntryId): string {
  return `m-${entry}`;
}

/** The entry of a job, from the job's id. */
export function entryOfJob(id: string): EntryId {
  return id.slice('m-'.length) as EntryId;
}

/** The shard of a chat and all of its topics. The hash function must never change, or stored data would not be found. */
export function shardOf(chatId: number, shards: number): number {
  let hash = 0x811c9dc5;
  for (const digit of String(chatId)) hash = Math.imul(hash ^ digit.charCodeAt(0), 0x01000193);
  return (hash >>> 0) % shards;
}
