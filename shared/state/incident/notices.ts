import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { fieldIn, fieldsOf, type StreamEntry } from '../../redis/stream.ts';

/** The state of alert delivery, for the whole installation. Times are ms since the epoch by Redis' clock. */
export interface AlertingRecord {
  /** When an alert last reached an operator. */
  lastSentMs?: number;
  /** Set while no alert reaches one. */
  failing?: { sinceMs: number; why: string; tries: number; retryAtMs: number };
  /** The new id of the operator's group after it became a supergroup. */
  moved?: { from: number; to: number };
  /** The times of the messages of the last hour. */
  sentMs: readonly number[];
  /** When this was written. */
  atMs?: number;
  /** The ids of the notices in the queue that the webhook has. */
  copied?: readonly string[];
}

/** The message about an incident, in the operator's chat, and when it was sent or changed last. */
export interface ShownMessage {
  chatId: number;
  messageId: number;
  atMs: number;
}

/** The notices that wait, and how delivery goes. */
export interface TakenNotices {
  nowMs: number;
  record: AlertingRecord;
  /** By the names of their incidents. */
  messages: ReadonlyMap<string, ShownMessage>;
  /** As JSON, by their ids; oldest first. */
  notices: readonly [id: string, json: string | undefined][];
}

/** What was delivered of them. */
export interface DeliveredNotices {
  /** The notices that are done with. */
  ids: readonly string[];
  record: AlertingRecord;
  /** The messages that changed, by incident; `undefined` where there is none any more. */
  messages: ReadonlyMap<string, ShownMessage | undefined>;
}

const MESSAGE = 'message:';

type TakeReply = [] | [nowMs: number, fields: string[], entries: StreamEntry[]];

/** The notices that wait to be delivered to the operator. Each method rejects when Redis cannot be reached. */
export function noticeQueue(redis: RedisClient) {
  const { notices, alerting, alertingLock } = keysOf(0);
  const at = [notices, alerting, alertingLock];
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const take = script<TakeReply>('take-notices');
  const putBack = script<1>('put-notices-back');
  return {
    /** Takes at most so many, for so long at most; `undefined` while nothing waits, or another owner has them. */
    async take(owner: string, forMs: number, most: number): Promise<TakenNotices | undefined> {
      const reply = await take(at, [owner, forMs, most]);
      if (reply.length === 0) return undefined;
      const [nowMs, flat, entries] = reply;
      const fields = fieldsOf(flat);
      const messages = new Map(
        [...fields]
          .filter(([name]) => name.startsWith(MESSAGE))
          .map(([name, value]) => [name.slice(MESSAGE.length), messageOf(value)]),
      );
      return { nowMs, record: recordOf(fields), messages, notices: entries.map(noticeIn) };
    },
    /** Removes what is done with, records how it went, and lets the others take. */
    async putBack(owner: string, { ids, record, messages }: DeliveredNotices): Promise<void> {
      const shown = [...messages].flatMap(([incident, message]) => [
        MESSAGE + incident,
        message ? textOf(message) : '',
      ]);
      await putBack(at, [owner, ids.length, ...ids, ...fieldsOfRecord(record), ...shown]);
    },
    /** All that wait, as JSON by their ids. */
    waiting: async () => (await redis.xrange(notices, '-', '+')).map(noticeIn),
    count: () => redis.xlen(notices),
  };
}

function noticeIn([id, fields]: StreamEntry): [id: string, json: string | undefined] {
  return [id, fieldIn(fields, 'notice')];
}

function messageOf(text: string): ShownMessage {
  const [chatId = Number.NaN, messageId = Number.NaN, atMs = 0] = text.split(' ').map(Number);
  return { chatId, messageId, atMs };
}

function textOf({ chatId, messageId, atMs }: ShownMessage): string {
  return `${chatId} ${messageId} ${atMs}`;
}

/** Reads the state of alert delivery. Rejects when Redis cannot be reached. */
export async function readAlerting(redis: RedisClient): Promise<AlertingRecord> {
  return recordOf(new Map(Object.entries(await redis.hgetall(keysOf(0).alerting))));
}

function recordOf(fields: ReadonlyMap<string, string>): AlertingRecord {
  const number = (name: string) => Number(fields.get(name) ?? 0);
  const failing = { sinceMs: number('failingSinceMs'), why: fields.get('why') ?? '', tries: number('tries') };
  return {
    ...(fields.has('lastSentMs') && { lastSentMs: number('lastSentMs') }),
    ...(fields.has('failingSinceMs') && { failing: { ...failing, retryAtMs: number('retryAtMs') } }),
    ...(fields.has('movedTo') && { moved: { from: number('movedFrom'), to: number('movedTo') } }),
    sentMs: (fields.get('sentMs') ?? '').split(',').filter(Boolean).map(Number),
    ...(fields.has('atMs') && { atMs: number('atMs') }),
    copied: (fields.get('copied') ?? '').split(',').filter(Boolean),
  };
}

/** An empty value removes the field. */
function fieldsOfRecord({
  lastSentMs,
  failing,
  moved,
  sentMs,
  atMs,
  copied = [],
}: AlertingRecord): (string | number)[] {
  return [
    ...['lastSentMs', lastSentMs ?? ''],
    ...['failingSinceMs', failing?.sinceMs ?? '', 'why', failing?.why ?? ''],
    ...['tries', failing?.tries ?? '', 'retryAtMs', failing?.retryAtMs ?? ''],
    ...['movedFrom', moved?.from ?? '', 'movedTo', moved?.to ?? ''],
    ...['sentMs', sentMs.join(','), 'atMs', atMs ?? '', 'copied', copied.join(',')],
  ];
}
