import { z } from 'zod';
import { jsonValue } from '../../shared/base/fields.ts';
import { clip } from '../../shared/base/text.ts';
import { type Alert, readAlert } from '../../shared/flow/alert.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { incidentBook, type QueuedAlerts } from '../../shared/state/incident/book.ts';
import type { Book } from './book.ts';
import type { Condition } from './causes/words.ts';
import { rowOf } from './causes.ts';
import { type Incident, incidentOf } from './incident.ts';
import type { Delivered } from './next-sending.ts';

/** The book as read from Redis, and for each shard the queue position of the last alert that was entered into the book. */
export interface StoredBook {
  version: number;
  book: Book;
  /** The delivery state of each incident, by name. */
  delivered: ReadonlyMap<string, Delivered>;
  /** The raw JSON of incidents that this version cannot read, by name. */
  unread: ReadonlyMap<string, string>;
  cursors: ReadonlyMap<number, string>;
}

/** Alerts of one shard that are not in the book yet, and the queue position of the last of these alerts. */
export type ShardAlerts = Pick<QueuedAlerts, 'shard' | 'upTo'> & { alerts: readonly Alert[] };

export type BookStore = ReturnType<typeof createBookStore>;

/**
 * The book of incidents, as this version reads and writes it.
 *
 * Contract: each method rejects when Redis cannot be reached, and each alert is entered once. An incident that this version
 * cannot read stays in Redis; when `record` stores a readable incident with the same name, the unreadable one moves to another
 * field.
 */
export function createBookStore(redis: RedisClient) {
  const redisBook = incidentBook(redis);
  return {
    async read(): Promise<StoredBook> {
      const { incidents, aside, delivered, ...rest } = await redisBook.read();
      const book = new Map<string, Incident>();
      const unread = new Map(aside);
      for (const [id, json] of incidents) {
        const incident = readIncident(id, json);
        if (incident) book.set(id, incident);
        else if (!FORMER_CAUSES.has(id)) unread.set(id, json);
      }
      return { ...rest, book, unread, delivered: new Map([...delivered].flatMap(deliveredOf)) };
    },
    async alertsOf(shard: number, cursor: string | undefined): Promise<ShardAlerts | undefined> {
      const page = await redisBook.alertsOf(shard, cursor);
      return page && { ...page, alerts: page.alerts.map(([id, json]) => alertOf(id, json)) };
    },
    record({ version, book, unread }: StoredBook, after: Book, alerts: readonly ShardAlerts[] = []) {
      const put = [...after].filter(([id, incident]) => book.get(id) !== incident);
      const removedIds = [...book.keys()].filter((id) => !after.has(id));
      return redisBook.record(version, {
        incidents: [
          ...put.map(([id, incident]) => [id, JSON.stringify({ v: INCIDENT_VERSION, ...incident })] as const),
          ...removedIds.map((id) => [id, ''] as const),
        ],
        aside: put.flatMap(([id]) => (unread.has(id) ? [[id, unread.get(id) ?? ''] as const] : [])),
        alerts,
      });
    },
  };
}

/** Causes that only earlier versions knew. Incidents of these causes stay in Redis, but nothing shows them. */
const FORMER_CAUSES: ReadonlySet<string> = new Set(['overflow-storm']);

/** The format version of stored incidents. An incident without a version is readable; one with another version is not. */
const INCIDENT_VERSION = 1;

const NAMES_MAX = 5;
const NAME_CHARS_MAX = 60;
const UNREADABLE_CHARS_MAX = 300;
/** A time in ms since the epoch, within the range of a JavaScript `Date`. */
const TIME = z.number().min(0).max(8.64e15);
const COUNT = z.number().min(0);

const ACT = z.looseObject({ by: z.string(), atMs: TIME, entry: z.string().optional(), result: z.string().optional() });

/** The fields of an incident that this version reads. Any further fields stay in the incident. */
const INCIDENT = z.looseObject({
  v: z.literal(INCIDENT_VERSION).optional(),
  cause: z.string().refine((cause) => rowOf(cause) !== undefined),
  key: z.string(),
  isOpen: z.boolean(),
  openedMs: TIME,
  lastMs: TIME,
  endedMs: TIME.optional(),
  reopenings: COUNT,
  first: z.string(),
  latest: z.string(),
  level: z.string(),
  messages: COUNT,
  chats: COUNT,
  chatNames: z.array(z.string()),
  traceId: z.string().optional(),
  entry: z.string().optional(),
  occurrences: z.array(z.string()).optional(),
  // Version 0.3 stored delivered and undelivered occurrences in these two fields.
  named: z.array(z.string()).default([]),
  unnamed: z.array(z.string()).default([]),
  occurrencesMore: COUNT.default(0),
  parts: z.array(z.string()).optional(),
  under: z.string().optional(),
  letters: z.looseObject({ most: COUNT, left: COUNT }).optional(),
  waiting: z.looseObject({ chat: z.string(), entry: z.string() }).optional(),
  opening: z.string().optional(),
  acts: z.record(z.string(), ACT).optional(),
});

const DELIVERED = z.object({
  opening: z.string(),
  stage: z.literal([0, 1, 2, 3]),
  copied: z.literal([0, 1, 2, 3]),
  digest: z.string(),
  lines: COUNT,
  sentMs: TIME,
  chatId: z.number().optional(),
  messageId: z.number().optional(),
});

/** Parses a delivery state; empty if it is unreadable, so that the channels get the incident again. */
function deliveredOf([name, json]: [name: string, json: string]): [string, Delivered][] {
  const delivered = DELIVERED.safeParse(jsonValue(json)).data as Delivered | undefined;
  return delivered === undefined ? [] : [[name, delivered]];
}

/** Reads an incident; `undefined` if this version does not know its cause, version or shape, or if `id` is not its name. */
export function readIncident(id: string, json: string): Incident | undefined {
  const read = INCIDENT.safeParse(jsonValue(json)).data;
  if (read === undefined) return undefined;
  const { named, unnamed, ...rest } = read;
  const incident = { ...rest, occurrences: rest.occurrences ?? [...named, ...unnamed] } as unknown as Incident;
  return incidentOf(incident) === id ? incident : undefined;
}

/** The fields that reports show of an incident that this version cannot read, each with a default. */
const GLIMPSE = z.object({
  cause: z.string().catch(''),
  isOpen: z.boolean().catch(true),
  openedMs: TIME.catch(0),
  lastMs: TIME.catch(0),
  latest: z.string().catch(''),
});

/** Reads the basic fields of an unreadable incident. A field that cannot be read has its default. */
export function glimpse(json: string): z.infer<typeof GLIMPSE> {
  return GLIMPSE.parse(Object(jsonValue(json)));
}

/** Reads a queued alert. If this version cannot read it or does not know its cause, the cause becomes `other-version`. */
export function alertOf(id: string, json: string | undefined): Alert {
  const alert = readAlert(json);
  if (alert === undefined) return { cause: 'other-version', key: 'alert', text: unreadableText(id, json) };
  return rowOf(alert.cause) ? alert : { ...alert, cause: 'other-version', key: incidentOf(alert) };
}

function unreadableText(id: string, json = ''): string {
  return `An alert is not readable (${id}): ${clip(json, UNREADABLE_CHARS_MAX)}`;
}

/** The condition that the book holds incidents that this version cannot read. */
export function unreadCondition(names: readonly string[]): Condition {
  const list = [...names]
    .sort()
    .slice(0, NAMES_MAX)
    .map((name) => clip(name, NAME_CHARS_MAX));
  const more = names.length > list.length ? `, and ${names.length - list.length} more` : '';
  return {
    cause: 'other-version',
    key: 'incidents',
    level: String(names.length),
    text: `Redis has incidents that this version does not know: ${list.join(', ')}${more}. They are kept and ignored.`,
  };
}
