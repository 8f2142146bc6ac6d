import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { InboundMessage } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Change } from '../change.ts';
import { withFormerGroup } from '../chat/chat.ts';
import type { Turn } from '../turn/turn.ts';
import { UNDO_MS } from '../undo.ts';

/** A reminder that is to come. */
export interface Coming {
  reminder: Reminder;
  dueAtMs: number;
  /** The chat under which it is kept: differs from the one that was asked for where a group became a supergroup. */
  chat: ChatKey;
  /** The due time that followed the last one at which its chat was gone; absent while it never was. */
  afterGoneMs?: number;
}

/** A reminder that is due, as it is stored. */
export interface Due {
  chat: ChatKey;
  /** The other key of the chat, where a group became a supergroup. */
  otherChat: ChatKey | undefined;
  id: string;
  dueAtMs: number;
  stored: string;
}

/** A reminder that the model cancelled, as long as that can be undone. Plain JSON. */
export interface CancelledReminder {
  reminder: Reminder;
  dueAtMs: number;
  /** The message that was being answered. */
  cancelledIn: EntryId;
  cancelledAtMs: number;
  chat: ChatKey;
}

/** The most reminders of a chat. */
export const REMINDERS_MAX = 50;
/** The most that are set for one message: all are shown in full under its answer, with a button each. */
export const SET_AT_ONCE_MAX = 10;
const ID_CHARS = 8;
/** The fields that stand beside a reminder. The id of a reminder has no colon. */
const GONE = 'gone:';
const CANCELLED = 'cancelled:';
const UNANSWERED = 'unanswered:';

/** When the reminder of this call is due, if an earlier attempt at the message has set it. */
export function dueAtOfEarlierCall(turn: Turn, call: string): number | undefined {
  const dueAtMs = turn.content(`reminder:${call}`);
  return dueAtMs === undefined ? undefined : Number(dueAtMs);
}

export type ReminderBook = ReturnType<typeof createReminderBook>;

/** The reminders of the chats of one shard. Each method rejects when Redis cannot be reached, and may be repeated at will. */
export function createReminderBook(redis: RedisClient, keys: Keys) {
  const { set, due, enter } = bindScripts(redis);
  const move = (each: Due, message: string, nextMs: number | undefined, traceparent: string) => {
    const { chat, id, dueAtMs } = each;
    const at = [keys.reminders, keys.remindersOf(chat), keys.inbound, keys.counts];
    const args = [memberOf(chat, id), id, dueAtMs, nextMs ?? '', chat, message, traceparent, `${UNANSWERED}${id}`];
    return enter(at, args);
  };
  return {
    /**
     * Sets a reminder, once per call: repeated, it keeps its first time. `too many`: the message has set as many
     * as it may. `full`: the chat has as many as it may have.
     * `fenced`: the turn was taken over.
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
      const [kind, first] = await turn.asWrite((place) => set(at, [fencingToken, place, call, ...args]));
      return kind === 'set' ? { kind, id, dueAtMs: Number(first) } : { kind };
    },
    /** The reminders of a chat, the next one first. */
    async of(chat: ChatKey): Promise<Coming[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      const all = await Promise.all(chats.map((each) => comingIn(redis, keys, each)));
      return all.flat().sort((one, other) => one.dueAtMs - other.dueAtMs);
    },
    ...reminderChanges(keys),
    ...cancelledReminders(redis, keys),
    /** Lists at most so many that are due, oldest first, and when the next one is. Times are those of Redis. */
    async due(count: number): Promise<{ nowMs: number; nextMs: number | undefined; due: Due[] }> {
      const at = [keys.reminders, keys.absent];
      const [nowMs, next, found] = await due(at, [keys.remindersPrefix, count, keys.chatPrefix]);
      const listed = found.map(([chat, id, dueAt, stored, other]) => {
        return { chat, otherChat: other || undefined, id, dueAtMs: Number(dueAt), stored };
      });
      return { nowMs, nextMs: next === '' ? undefined : Number(next), due: listed };
    },
    /**
     * Makes a message of a due reminder, once per due time, and sets when it comes again. Undefined when somebody else
     * has done so, when it was cancelled, or when its last message is not answered yet: its answer covers this time.
     */
    async enter(each: Due, message: string, nextMs: number | undefined, traceparent: string) {
      return (await move(each, message, nextMs, traceparent)) || undefined;
    },
    /** Puts a due reminder off. */
    async putOff(each: Due, untilMs: number): Promise<void> {
      await move(each, '', untilMs, '');
    },
  };
}

function bindScripts(redis: RedisClient) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const set = script<['set' | 'too many' | 'full' | 'fenced', due: string]>('set');
  const due = script<[number, string, [ChatKey, string, string, string, ChatKey | ''][]]>('due');
  const enter = script<EntryId | ''>('enter');
  return { set, due, enter };
}

/** The reminders that the model cancelled, and the verbs by which that can be undone. */
function cancelledReminders(redis: RedisClient, keys: Keys) {
  const fieldOf = ({ chat, reminder: { id } }: CancelledReminder) =>
    [keys.remindersOf(chat), `${CANCELLED}${id}`] as const;
  const { cancelling } = reminderChanges(keys);
  return {
    /** The reminders of a chat that the model cancelled within the last week, in the order of their due times. */
    async cancelled(chat: ChatKey): Promise<CancelledReminder[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      const stored = await Promise.all(chats.map((each) => redis.hgetall(keys.remindersOf(each))));
      return stored
        .flatMap((fields) => Object.entries(fields))
        .filter(([field]) => field.startsWith(CANCELLED))
        .map(([, json]) => JSON.parse(json) as CancelledReminder)
        .sort((one, other) => one.dueAtMs - other.dueAtMs);
    },
    /** Cancels reminders so that `restoring` brings them back, and forgets what was cancelled more than a week ago. */
    cancellingForUndo: (
      coming: readonly Coming[],
      by: Pick<CancelledReminder, 'cancelledIn' | 'cancelledAtMs'>,
      before: readonly CancelledReminder[],
    ): Change[] => {
      const made = coming.map(({ reminder, dueAtMs, chat }): CancelledReminder => ({ reminder, dueAtMs, chat, ...by }));
      const old = before.filter(({ cancelledAtMs }) => cancelledAtMs < by.cancelledAtMs - UNDO_MS);
      return [
        ...cancelling(coming),
        ...made.map((each): Change => ['HSET', ...fieldOf(each), JSON.stringify(each)]),
        ...old.map((each): Change => ['HDEL', ...fieldOf(each)]),
      ];
    },
    /** Sets a cancelled reminder again, due at `dueAtMs`. */
    restoring: (cancelled: CancelledReminder, dueAtMs: number): Change[] => {
      const { chat, reminder } = cancelled;
      return [
        ['HSET', keys.remindersOf(chat), reminder.id, JSON.stringify(reminder)],
        ['ZADD', keys.reminders, dueAtMs, memberOf(chat, reminder.id)],
        ['HDEL', ...fieldOf(cancelled)],
      ];
    },
  };
}

/** The verbs of a fenced write. */
function reminderChanges(keys: Keys) {
  const cancelling = (coming: readonly Coming[]): Change[] =>
    coming.flatMap(({ chat, reminder: { id } }) => [
      ['HDEL', keys.remindersOf(chat), id, `${GONE}${id}`, `${UNANSWERED}${id}`],
      ['ZREM', keys.reminders, memberOf(chat, id)],
    ]);
  return {
    /** Cancels reminders. */
    cancelling,
    /**
     * Notes that the chat of a repeat was gone at a due time. One refusal may be a mistake: the repeat ends only where the
     * chat was gone at the due time before as well.
     */
    chatGone: (coming: readonly Coming[], dueAtMs: number): Change[] =>
      coming.flatMap((each) =>
        each.afterGoneMs === dueAtMs
          ? cancelling([each])
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

async function comingIn(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<Coming[]> {
  const stored = await redis.hgetall(keys.remindersOf(chat));
  const ids = Object.keys(stored).filter((field) => !field.includes(':'));
  if (ids.length === 0) return [];
  const due = await redis.zmscore(keys.reminders, ...ids.map((id) => memberOf(chat, id)));
  return ids.flatMap((id, at) => {
    if (due[at] == null) return [];
    const gone = stored[`${GONE}${id}`];
    const reminder = JSON.parse(stored[id] ?? '') as Reminder;
    return [{ reminder, dueAtMs: Number(due[at]), chat, ...(gone !== undefined && { afterGoneMs: Number(gone) }) }];
  });
}

/** A reminder that the model has set, while it answered a message. Plain JSON. */
export interface Reminder extends Schedule {
  readonly id: string;
  /** The thing to say or do. */
  readonly text: string;
  /** Where that message was written, and by whom. */
  readonly asked: Asked;
  /** The message, and the beginning of its words; absent where an earlier version set it. */
  readonly setIn?: EntryId;
  readonly answering?: string;
}

export type Asked = Pick<InboundMessage, 'chatId' | 'topicId' | 'chatType' | 'chatTitle' | 'messageId' | 'from'>;

/** When a reminder is due. Plain JSON. */
export interface Schedule {
  readonly firstMs: number;
  /** Absent for a reminder that comes once. */
  readonly repeat?: Repeat;
  /** The zone whose clocks it follows. */
  readonly timeZone: string;
}

/** When a repeat comes again: at the times of a cron expression of five fields, or so many minutes after each other. */
export type Repeat = { readonly cron: string } | { readonly everyMinutes: number };
