import { join } from 'node:path';
import { type Alert, lostDataAlert } from '../../flow/alert.ts';
import { commandIn, encodeMessage, type InboundMessage, laneOf } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { chatKey, chatOf, type EntryId, fieldOfUpdate, type Keys, keysOf, lanesOf, shardOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { cancels, isPermitted } from '../../telegram/commands.ts';
import { movedGroups, notePresence, type Presence } from '../chat/chat.ts';
import { queueAlert } from '../incident/book.ts';

/** The result of an edit; see `edit.lua`. `repeated`: it became a message of its own before. */
export type EditResult = 'new' | 'repeated' | 'replaced' | 'unchanged' | 'too late' | 'command' | 'unknown';

/** Telegram redelivers for 24 hours; twice that covers clocks that disagree. */
const SEEN_SECONDS = 48 * 3600;

/** An app cuts a pasted text into messages a little below Telegram's limit of 4,096. */
const CUT_CHARS_MIN = 3_900;
/** An app sends a comment and the messages that it forwards with it at once; Telegram dates them in seconds. */
const AT_ONCE_MS = [0, 1_000, 2_000];

/**
 * Marks of what belongs to an addressed message of a group without being addressed itself: the other pictures of an
 * album, of which only one has the caption, the rest of a pasted text that an app cut, and what is forwarded with a
 * comment. Kept beside the message, so that any producer knows.
 */
export interface Expected {
  /** When the addressed message was written: what is forwarded then belongs to it. */
  said?: string;
  album?: string;
  /** The id of the message that goes on. */
  text?: string;
}

/** A group that became a supergroup: it goes on under another id, and Telegram says so in both chats. */
export interface GroupMove {
  from: number;
  to: number;
}

/** The command with which a message cancels earlier messages of its chat; empty when it is no such command. */
function cancelledBy(message: InboundMessage): string {
  const command = commandIn(message);
  return command && cancels(command) && isPermitted(command, message.from) ? command.name : '';
}

export type Inbox = ReturnType<typeof createInbox>;

/**
 * The way in, over a fail-fast connection. `accept` stores a message durably, once per update id.
 *
 * Contract: rejects when Redis cannot store the message (unreachable, out of memory, out of disk). The message may be
 * stored all the same, so the caller retries: `accept` is idempotent per update id. When an acceptance shows that Redis
 * lost earlier ones, it raises an alert.
 */
export function createInbox(redis: RedisClient, shards: number) {
  const run = bindScript<[0 | 1, EntryId, number]>(redis, join(import.meta.dirname, 'accept.lua'));
  const edit = bindScript<[EditResult, EntryId | '', number]>(redis, join(import.meta.dirname, 'edit.lua'));
  const move = bindScript<0 | 1>(redis, join(import.meta.dirname, 'move.lua'));
  const moved = movedGroups(redis);
  const lossTellers = new Map<number, ReturnType<typeof createLossTeller>>();
  // The message is stored whether or not this alert can be queued; the next acceptance tries again.
  const lookForLoss = async (shard: number, state: Counted): Promise<void> => {
    const tellLoss = lossTellers.get(shard) ?? createLossTeller(redis, keysOf(shard));
    lossTellers.set(shard, tellLoss);
    await tellLoss(state).catch(() => undefined);
  };
  return {
    /**
     * Remembers that a group goes on under another id, with its conversation where that is on the same shard, and alerts
     * unless that is stored already. Two producers that learn of it at once may both alert. Rejects when Redis cannot store that.
     */
    async reportMove({ from, to }: GroupMove): Promise<void> {
      if ((await moved.formerOf(to)) === from) return;
      const keys = keysOf(shardOf(from, shards));
      const [group, supergroup] = [chatKey(from), chatKey(to)];
      if (shardOf(to, shards) === shardOf(from, shards))
        await move([...lanesOf(group).map(keys.lane), keys.chat(group), keys.chat(supergroup)], [group, supergroup]);
      const text = `The group ${from} goes on under the id ${to}, because Telegram made it a supergroup. It is answered as before. Write ${to} where ${from} stands in the settings, such as TELEGRAM_ALLOWED_IDS.`;
      await queueAlert(redis, keysOf(0), { cause: 'group-moved', key: String(from), text });
      await moved.add(from, to);
    },
    /** Notes that the bot was blocked or removed, or is back. Rejects when Redis cannot store that. */
    notePresence: (presence: Presence) => notePresence(redis, shards, presence),
    /** Which group a supergroup was before; nothing where no producer has seen it move. */
    movedFrom: moved.formerOf,
    /** What of a sender belongs to an accepted message of the same group. */
    expected: (botId: number, { chatId, from }: InboundMessage): Promise<Expected> =>
      redis.hgetall(keysOf(shardOf(chatId, shards)).follows(botId, chatId, from.id)),
    async accept(botId: number, message: InboundMessage, traceparent: string) {
      const shard = shardOf(message.chatId, shards);
      const [added, entry, accepted] = await run(keysFor(shard, botId, message), [
        SEEN_SECONDS,
        ...fieldsOf(message, traceparent),
      ]);
      await lookForLoss(shard, { accepted, hasGrown: added === 1 });
      return { entry, duplicate: added === 0 };
    },
    /**
     * Replaces an accepted message by what it was edited into, as long as no attempt at it has begun: it keeps its entry
     * and its place. Where it was never accepted, it is accepted now if it `mayBeNew`. Contract: as `accept`.
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
  // A message of another chat may have the id of one of the person's own.
  const written = keys.written(botId, summons ? chatOf(laneOf(message)) : chatId, messageId);
  return [keys.updates(botId, updateId), keys.inbound, keys.counts, written, keys.follows(botId, chatId, from.id)];
}

function fieldsOf(message: InboundMessage, traceparent: string): (string | number)[] {
  return [
    laneOf(message),
    encodeMessage(message),
    traceparent,
    cancelledBy(message),
    message.forwardedFrom === undefined ? '' : 1,
    fieldOfUpdate(message.updateId),
    message.chatType === 'private' || message.summons
      ? ''
      : JSON.stringify(Object.entries(expectedAfter(message)).flat()),
  ];
}

/** What may follow an accepted message. Pure. */
export function expectedAfter({ album, content, messageId, sentAtMs }: InboundMessage): Expected {
  const isCut = content.kind === 'text' && content.text.length >= CUT_CHARS_MIN;
  return { said: String(sentAtMs), ...(album && { album }), ...(isCut && { text: String(messageId + 1) }) };
}

/** Whether a message belongs to one of the same sender that was addressed. Pure. */
export function isExpected({ messageId, album, forwardedFrom, sentAtMs }: InboundMessage, expected: Expected): boolean {
  const isAtOnce = (afterMs: number) => expected.said === String(sentAtMs - afterMs);
  if (forwardedFrom !== undefined && AT_ONCE_MS.some(isAtOnce)) return true;
  return album === undefined ? expected.text === String(messageId) : expected.album === album;
}

/** A reading of a shard's count of accepted messages. */
export interface Counted {
  accepted: number;
  /** Whether the count grew by one in the same step. */
  hasGrown: boolean;
}

/**
 * Compares the count of accepted messages, which only ever grows, with the highest one seen before, and queues an alert
 * when it went back: then Redis lost data. The highest count is kept in memory on purpose: Redis could have lost
 * anything that it held.
 *
 * Contract: the returned function is called in the order in which the counts of a shard were read. It rejects when the
 * alert cannot be queued; the next call tries again. Returns the alert that it queued.
 */
export function createLossTeller(redis: RedisClient, keys: Keys) {
  let highest = 0;
  return async ({ accepted, hasGrown }: Counted): Promise<Alert | undefined> => {
    const before = highest;
    const isLower = accepted < before || (hasGrown && accepted === before);
    highest = accepted;
    if (!isLower) return undefined;
    const alert = lostDataAlert(keys.counts, before, accepted);
    try {
      await queueAlert(redis, keys, alert);
    } catch (error) {
      highest = Math.max(highest, before);
      throw error;
    }
    return alert;
  };
}
