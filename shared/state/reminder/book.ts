import { hash } from 'node:crypto';
import type { InboundMessage } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Change } from '../change.ts';
import { withFormerGroup } from '../chat/chat.ts';
import type { Turn } from '../turn/turn.ts';
import { UNDO_MS } from '../undo.ts';

/** A reminder with its next due time. */
export interface PendingReminder {
  reminder: Reminder;
  dueAtMs: number;
  /** The chat whose Redis key has the reminder: the former group, if the reminder is older than the supergroup. */
  chat: ChatKey;
  /** The due time that follows the last one at which the bot could not write to the chat; absent if the bot always could. */
  afterGoneMs?: number;
}

/** A due reminder, whose JSON is not parsed yet. */
export interface DueEntry {
  chat: ChatKey;
  /** The former group's key or the new supergroup's key, if the chat has changed its id. */
  otherChat: ChatKey | undefined;
  id: string;
  dueAtMs: number;
  /** The reminder as JSON. */
  stored: string;
}

/** A reminder that the model cancelled, stored so that people can undo the cancellation. Plain JSON. */
export interface CancelledReminder {
  reminder: Reminder;
  dueAtMs: number;
  /** The message that the model was answering when it cancelled the reminder. */
  cancelledIn: EntryId;
  cancelledAtMs: number;
  chat: ChatKey;
}

/** The maximum number of reminders of a chat. */
export const REMINDERS_MAX = 50;
/** The maximum number of reminders that one message may set. The answer to the message shows each in full, with a button. */
export const SET_AT_ONCE_MAX = 10;
const ID_CHARS = 8;
/** Prefixes of a reminder's further fields in its chat's hash. The reminder's own field is its id, which has no colon. */
const GONE = 'gone:';
const CANCELLED = 'cancelled:';
const UNANSWERED = 'unanswered:';

/** The due time of the reminder that this call of the tool set in an earlier attempt; `undefined` if it set none. */
export function dueAtOfEarlierCall(turn: Turn, call: string): number | undefined {
  const dueAtMs = turn.content(`reminder:${call}`);
  return dueAtMs === undefined ? undefined : Number(dueAtMs);
}

export type ReminderBook = ReturnType<typeof createReminderBook>;

/** The reminders of the chats of one shard. Each async method is idempotent and rejects when Redis cannot be reached. */
export function createReminderBook(redis: RedisClient, keys: Keys) {
  const { set, due, enter } = bindScripts(redis);
  const move = (each: DueEntry, message: string, nextMs: number | undefined, traceparent: string) => {
    const { chat, id, dueAtMs } = each;
    const at = [keys.reminders, keys.remindersOf(chat), keys.inbound, keys.counts];
    const args = [memberOf(chat, id), id, dueAtMs, nextMs ?? '', chat, message, traceparent, `${UNANSWERED}${id}`];
    return enter(at, args);
  };
  return {
    /**
     * Sets a reminder, once per call of the tool; a repeated call returns the due time that the first one set. `too many`: the
     * message has set `SET_AT_ONCE_MAX`. `full`: the chat has `REMINDERS_MAX`. `fenced`: another attempt took over, or Redis
     * lost a write of this one.
     */
    async set(turn: Turn, call: string, reminder: Omit<Reminder, 'id'>, dueAtMs: number): Promise<SetReply> {
      const { entry, currentChat, fencingToken } = turn;
      const id = hash('sha256', `${entry} ${call}`).slice(0, ID_CHARS);
      const at = [keys.turn(entry), keys.reminders, keys.remindersOf(currentChat)];
      const args = [
        memberOf(currentChat, id),
        id,
        JSON.stringify({ id, ...reminder }),
        dueAtMs,
        REMINDERS_MAX,
        SET_AT_ONCE_MAX,
      ];
      const [kind, first] = await turn.asWrite((numbers) => set(at, [fencingToken, numbers, call, ...args]));
      return kind === 'set' ? { kind, id, dueAtMs: Number(first) } : { kind };
    },
    /** The reminders of a chat, in the order of their due times. */
    async of(chat: ChatKey): Promise<PendingReminder[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      const all = await Promise.all(chats.map((each) => pendingOf(redis, keys, each)));
      return all.flat().sort((one, other) => one.dueAtMs - other.dueAtMs);
    },
    ...reminderChanges(keys),
    ...cancelledReminders(redis, keys),
    /** Lists at most `count` due reminders, earliest first, and when the next one will be due. Times are by Redis' clock. */
    async due(count: number): Promise<{ nowMs: number; nextMs: number | undefined; due: DueEntry[] }> {
      const at = [keys.reminders, keys.absent];
      const [nowMs, next, replies] = await due(at, [keys.remindersPrefix, count, keys.chatPrefix]);
      const entries = replies.map(([chat, id, dueAt, stored, other]) => {
        return { chat, otherChat: other || undefined, id, dueAtMs: Number(dueAt), stored };
      });
      return { nowMs, nextMs: next === '' ? undefined : Number(next), due: entries };
    },
    /**
     * Enters a due reminder as a message, once per due time, and sets the reminder's next due time; without `nextMs` it removes
     * the reminder. Returns the entry; undefined if another process did so, if the reminder was cancelled, or if the reminder's
     * previous message is still unanswered, because the answer to that message serves both due times.
     */
    async enter(each: DueEntry, message: string, nextMs: number | undefined, traceparent: string) {
      return (await move(each, message, nextMs, traceparent)) || undefined;
    },
    /** Postpones a due reminder. Does nothing if its due time has changed. */
    async putOff(each: DueEntry, untilMs: number): Promise<void> {
      await move(each, '', untilMs, '');
    },
  };
}

function bindScripts(redis: RedisClient) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, `${import.meta.dirname}/${name}.lua`);
  const set = script<['set' | 'too many' | 'full' | 'fenced', due: string]>('set');
  const due = script<[number, string, [ChatKey, string, string, string, ChatKey | ''][]]>('due');
  const enter = script<EntryId | ''>('enter');
  return { set, due, enter };
}

/** The reminders that the model cancelled, and the changes that make and undo such a cancellation. */
function cancelledReminders(redis: RedisClient, keys: Keys) {
  const fieldOf = ({ chat, reminder: { id } }: CancelledReminder) =>
    [keys.remindersOf(chat), `${CANCELLED}${id}`] as const;
  const { cancel } = reminderChanges(keys);
  return {
    /** The stored cancelled reminders of a chat, in the order of their due times. */
    async cancelled(chat: ChatKey): Promise<CancelledReminder[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      const hashes = await Promise.all(chats.map((each) => redis.hgetall(keys.remindersOf(each))));
      return hashes
        .flatMap((fields) => Object.entries(fields))
        .filter(([field]) => field.startsWith(CANCELLED))
        .map(([, json]) => JSON.parse(json) as CancelledReminder)
        .sort((one, other) => one.dueAtMs - other.dueAtMs);
    },
    /** Cancels reminders so that `restore` can bring them back. Forgets `earlier` cancellations that are older than a week. */
    cancelWithUndo: (
      pending: readonly PendingReminder[],
      by: Pick<CancelledReminder, 'cancelledIn' | 'cancelledAtMs'>,
      earlier: readonly CancelledReminder[],
    ): Change[] => {
      const now = pending.map(({ reminder, dueAtMs, chat }): CancelledReminder => ({ reminder, dueAtMs, chat, ...by }));
      const old = earlier.filter(({ cancelledAtMs }) => cancelledAtMs < by.cancelledAtMs - UNDO_MS);
      return [
        ...cancel(pending),
        ...now.map((each): Change => ['HSET', ...fieldOf(each), JSON.stringify(each)]),
        ...old.map((each): Change => ['HDEL', ...fieldOf(each)]),
      ];
    },
    /** Sets a cancelled reminder again, due at `dueAtMs`. */
    restore: (cancellation: CancelledReminder, dueAtMs: number): Change[] => {
      const { chat, reminder } = cancellation;
      return [
        ['HSET', keys.remindersOf(chat), reminder.id, JSON.stringify(reminder)],
        ['ZADD', keys.reminders, dueAtMs, memberOf(chat, reminder.id)],
        ['HDEL', ...fieldOf(cancellation)],
      ];
    },
  };
}

/** Changes that cancel reminders, for a fenced write. */
function reminderChanges(keys: Keys) {
  const cancel = (pending: readonly PendingReminder[]): Change[] =>
    pending.flatMap(({ chat, reminder: { id } }) => [
      ['HDEL', keys.remindersOf(chat), id, `${GONE}${id}`, `${UNANSWERED}${id}`],
      ['ZREM', keys.reminders, memberOf(chat, id)],
    ]);
  return {
    /** Cancels reminders for good. */
    cancel,
    /**
     * Stores that the bot could not write to the chat of repeated reminders at a due time, or cancels the reminders if that
     * happened at the previous due time, too. One refusal is not enough, because it may be Telegram's mistake.
     */
    noteChatGone: (pending: readonly PendingReminder[], dueAtMs: number): Change[] =>
      pending.flatMap((each) =>
        each.afterGoneMs === dueAtMs
          ? cancel([each])
          : [['HSET', keys.remindersOf(each.chat), `${GONE}${each.reminder.id}`, each.dueAtMs]],
      ),
  };
}

type SetReply =
  | { kind: 'set'; id: string; dueAtMs: number }
  | { kind: 'too many' }
  | { kind: 'full' }
  | { kind: 'fenced' };

function memberOf(chat: ChatKey, id: string): string {
  return `${chat}:${id}`;
}

async function pendingOf(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<PendingReminder[]> {
  const fields = await redis.hgetall(keys.remindersOf(chat));
  const ids = Object.keys(fields).filter((field) => !field.includes(':'));
  if (ids.length === 0) return [];
  const due = await redis.zmscore(keys.reminders, ...ids.map((id) => memberOf(chat, id)));
  return ids.flatMap((id, at) => {
    if (due[at] == null) return [];
    const goneAt = fields[`${GONE}${id}`];
    const reminder = JSON.parse(fields[id] ?? '') as Reminder;
    return [{ reminder, dueAtMs: Number(due[at]), chat, ...(goneAt !== undefined && { afterGoneMs: Number(goneAt) }) }];
  });
}

/** A reminder that the model set while it answered a message. Plain JSON. */
export interface Reminder extends Schedule {
  readonly id: string;
  /** The thing to say or do. */
  readonly text: string;
  /** The chat and the author of the message that the model answered. */
  readonly asked: ReminderOrigin;
  /** The entry of the message that the model answered; absent in reminders of earlier versions. */
  readonly setIn?: EntryId;
  /** The beginning of the text that the model answered; absent in reminders of earlier versions. */
  readonly answering?: string;
}

export type ReminderOrigin = Pick<
  InboundMessage,
  'chatId' | 'topicId' | 'chatType' | 'chatTitle' | 'messageId' | 'from'
>;

/** The due times of a reminder. Plain JSON. */
export interface Schedule {
  readonly firstMs: number;
  /** Absent for a reminder that has only one due time. */
  readonly repeat?: Repeat;
  /** The time zone of the due times. */
  readonly timeZone: string;
}

/** The further due times: the times of a cron expression of five fields, or a number of minutes after the previous due time. */
export type Repeat = { readonly cron: string } | { readonly everyMinutes: number };
