import { type Alert, lostDataAlert } from '../../flow/alert.ts';
import { commandIn, encodeMessage, type InboundMessage, laneOf } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { chatKey, chatOf, type EntryId, fieldOfUpdate, type Keys, keysOf, lanesOf, shardOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { cancels, isPermitted } from '../../telegram/commands.ts';
import { movedGroups, notePresence, type Presence } from '../chat/chat.ts';
import { queueAlert } from '../incident/book.ts';

/** The result of an edit. `command`: the old or the new version is a command. `unknown`: no such message was accepted. */
export type EditResult = 'new' | 'repeated' | 'replaced' | 'unchanged' | 'too late' | 'command' | 'unknown';

/** How long Redis remembers an update. Telegram repeats an update for 24 hours; twice that time allows for wrong clocks. */
const SEEN_SECONDS = 48 * 3600;

/** Apps split a long text into messages of at least this length, a little below Telegram's limit of 4,096 characters. */
const CUT_CHARS_MIN = 3_900;
/** The possible differences between the dates (full seconds) of a comment and of the messages forwarded with the comment. */
const AT_ONCE_MS = [0, 1_000, 2_000];

/**
 * How a producer recognises messages that continue a message to the bot in a group, although they do not mention the bot:
 * further pictures of an album, the rest of a split text, and messages forwarded with a comment. Redis stores this, so that
 * every producer has it.
 */
export interface Expected {
  /** The date of the message to the bot; messages that the sender forwards within two seconds continue that message. */
  said?: string;
  album?: string;
  /** The id of the message with the rest of the text. */
  text?: string;
}

/** A group that became a supergroup, which has another id. Telegram reports the change in both chats. */
export interface GroupMove {
  from: number;
  to: number;
}

/** The name of the message's command if the command cancels earlier messages and the sender may use the command, else empty. */
function cancellingCommand(message: InboundMessage): string {
  const command = commandIn(message);
  return command && cancels(command) && isPermitted(command, message.from) ? command.name : '';
}

export type Inbox = ReturnType<typeof createInbox>;

/**
 * Stores incoming messages in Redis. Needs an impatient connection, which limits how long a command waits.
 *
 * Contract: rejects when Redis cannot store the message (unreachable, out of memory, out of disk). The message may be
 * stored all the same, so the caller retries: `accept` is idempotent per update id. Queues an alert if the count of accepted
 * messages shows that Redis lost earlier ones.
 */
export function createInbox(redis: RedisClient, shards: number) {
  const run = bindScript<[0 | 1, EntryId, number]>(redis, `${import.meta.dirname}/accept.lua`);
  const edit = bindScript<[EditResult, EntryId | '', number]>(redis, `${import.meta.dirname}/edit.lua`);
  const move = bindScript<0 | 1>(redis, `${import.meta.dirname}/move.lua`);
  const groups = movedGroups(redis);
  const lossTellers = new Map<number, ReturnType<typeof createLossTeller>>();
  // A failure to queue the alert must not fail the acceptance; the next acceptance tries again.
  const lookForLoss = async (shard: number, state: Counted): Promise<void> => {
    const tellLoss = lossTellers.get(shard) ?? createLossTeller(redis, keysOf(shard));
    lossTellers.set(shard, tellLoss);
    await tellLoss(state).catch(() => undefined);
  };
  return {
    /**
     * Stores that a group became a supergroup, moves the conversation if both ids belong to the same shard, and queues an
     * alert, all once; two producers at the same moment may both queue the alert. Rejects when Redis cannot store this.
     */
    async reportMove({ from, to }: GroupMove): Promise<void> {
      if ((await groups.formerOf(to)) === from) return;
      const keys = keysOf(shardOf(from, shards));
      const [group, supergroup] = [chatKey(from), chatKey(to)];
      if (shardOf(to, shards) === shardOf(from, shards))
        await move([...lanesOf(group).map(keys.lane), keys.chat(group), keys.chat(supergroup)], [group, supergroup]);
      const text = `The group ${from} now has the id ${to}, because Telegram made it a supergroup. It is answered as before. Replace ${from} by ${to} in the settings, such as TELEGRAM_ALLOWED_IDS.`;
      await queueAlert(redis, keysOf(0), { cause: 'group-moved', key: String(from), text });
      await groups.add(from, to);
    },
    /** Stores that the bot was blocked or removed, or is back. Rejects when Redis cannot store this. */
    notePresence: (presence: Presence) => notePresence(redis, shards, presence),
    /** The group that a supergroup was before; undefined if no producer has seen the move. */
    movedFrom: groups.formerOf,
    /** How to recognise messages that continue the sender's last message to the bot in the group. */
    expected: (botId: number, { chatId, from }: InboundMessage): Promise<Expected> =>
      redis.hgetall(keysOf(shardOf(chatId, shards)).follows(botId, chatId, from.id)),
    async accept(botId: number, message: InboundMessage, traceparent: string) {
      const shard = shardOf(message.chatId, shards);
      const [isNew, entry, accepted] = await run(keysFor(shard, botId, message), [
        SEEN_SECONDS,
        ...fieldsOf(message, traceparent),
      ]);
      await lookForLoss(shard, { accepted, hasGrown: isNew === 1 });
      return { entry, duplicate: isNew === 0 };
    },
    /**
     * Replaces an accepted message by its edited version, if no attempt at the message has begun. The entry stays the same.
     * If `mayBeNew`, also accepts a message that was never accepted.
     */
    async edit(botId: number, message: InboundMessage, traceparent: string, mayBeNew: boolean) {
      const shard = shardOf(message.chatId, shards);
      const { absent, turnPrefix } = keysOf(shard);
      const [result, entry, accepted] = await edit(
        [...keysFor(shard, botId, message), absent],
        [SEEN_SECONDS, ...fieldsOf(message, traceparent), turnPrefix, message.updateId, mayBeNew ? 1 : 0],
      );
      if (entry !== '') await lookForLoss(shard, { accepted, hasGrown: result === 'new' });
      return { result, entry };
    },
  };
}

function keysFor(shard: number, botId: number, message: InboundMessage): string[] {
  const { updateId, chatId, messageId, from, summons } = message;
  const keys = keysOf(shard);
  // Message ids are unique only within a chat, so a summons stores its id under its own key.
  const entryKey = keys.written(botId, summons ? chatOf(laneOf(message)) : chatId, messageId);
  return [keys.updates(botId, updateId), keys.inbound, keys.counts, entryKey, keys.follows(botId, chatId, from.id)];
}

function fieldsOf(message: InboundMessage, traceparent: string): (string | number)[] {
  return [
    laneOf(message),
    encodeMessage(message),
    traceparent,
    cancellingCommand(message),
    message.forwardedFrom === undefined ? '' : 1,
    fieldOfUpdate(message.updateId),
    message.chatType === 'private' || message.summons
      ? ''
      : JSON.stringify(Object.entries(expectedAfter(message)).flat()),
  ];
}

/** How to recognise messages that continue an accepted message. Pure. */
export function expectedAfter({ album, content, messageId, sentAtMs }: InboundMessage): Expected {
  const isCut = content.kind === 'text' && content.text.length >= CUT_CHARS_MIN;
  return { said: String(sentAtMs), ...(album && { album }), ...(isCut && { text: String(messageId + 1) }) };
}

/** Whether a message continues an earlier message of the same sender to the bot, as `expected` describes. Pure. */
export function isExpected({ messageId, album, forwardedFrom, sentAtMs }: InboundMessage, expected: Expected): boolean {
  const isAtOnce = (afterMs: number) => expected.said === String(sentAtMs - afterMs);
  if (forwardedFrom !== undefined && AT_ONCE_MS.some(isAtOnce)) return true;
  return album === undefined ? expected.text === String(messageId) : expected.album === album;
}

/** A shard's count of accepted messages. */
export interface Counted {
  accepted: number;
  /** Whether the script that read the count also raised it by one. */
  hasGrown: boolean;
}

/**
 * Detects that Redis lost data: compares a shard's count of accepted messages, which only grows, with the previous count, and
 * queues an alert if the count is lower than it must be. The process remembers the previous count, as Redis could lose it, too.
 *
 * Contract: call the returned function in the order in which the counts of a shard were read. It rejects when the alert
 * cannot be queued; the next call tries again. Returns the alert that it queued, if any.
 */
export function createLossTeller(redis: RedisClient, keys: Keys) {
  let lastCount = 0;
  return async ({ accepted, hasGrown }: Counted): Promise<Alert | undefined> => {
    const previous = lastCount;
    const isLower = accepted < previous || (hasGrown && accepted === previous);
    lastCount = accepted;
    if (!isLower) return undefined;
    const alert = lostDataAlert(keys.counts, previous, accepted);
    try {
      await queueAlert(redis, keys, alert);
    } catch (error) {
      lastCount = Math.max(lastCount, previous);
      throw error;
    }
    return alert;
  };
}
