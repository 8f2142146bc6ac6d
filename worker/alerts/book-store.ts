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

/** The book as it was read, with the position up to which each shard's alerts are entered. */
export interface StoredBook {
  version: number;
  book: Book;
  /** What the channels have of each incident, by its name. */
  delivered: ReadonlyMap<string, Delivered>;
  /** What stands in the book and this version does not know, as it was written, by name. */
  unread: ReadonlyMap<string, string>;
  cursors: ReadonlyMap<number, string>;
}

/** Alerts of one shard that are not in the book yet, and the position of the last one. */
export type ShardAlerts = Pick<QueuedAlerts, 'shard' | 'upTo'> & { alerts: readonly Alert[] };

export type BookStore = ReturnType<typeof createBookStore>;

/**
 * The book of incidents, as this version reads and writes it.
 *
 * Contract: as `incidentBook`. Incidents that this version cannot read stay as they are; where an incident of ours takes the
 * name of one, that one is stored aside.
 */
export function createBookStore(redis: RedisClient) {
  const stored = incidentBook(redis);
  return {
    async read(): Promise<StoredBook> {
      const { incidents, aside, delivered, ...rest } = await stored.read();
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
      const queued = await stored.alertsOf(shard, cursor);
      return queued && { ...queued, alerts: queued.alerts.map(([id, json]) => alertOf(id, json)) };
    },
    record({ version, book, unread }: StoredBook, after: Book, alerts: readonly ShardAlerts[] = []) {
      const put = [...after].filter(([id, incident]) => book.get(id) !== incident);
      const gone = [...book.keys()].filter((id) => !after.has(id));
      return stored.record(version, {
        incidents: [
          ...put.map(([id, incident]) => [id, JSON.stringify({ v: INCIDENT_VERSION, ...incident })] as const),
          ...gone.map((id) => [id, ''] as const),
        ],
        aside: put.flatMap(([id]) => (unread.has(id) ? [[id, unread.get(id) ?? ''] as const] : [])),
        alerts,
      });
    },
  };
}

/** Causes of earlier versions. Their incidents stay in Redis, and are not shown. */
const FORMER_CAUSES: ReadonlySet<string> = new Set(['overflow-storm']);

/** The version of an incident as this process writes it; incidents of another version are not read. */
const INCIDENT_VERSION = 1;

const NAMES_MAX = 5;
const NAME_CHARS_MAX = 60;
const UNREADABLE_CHARS_MAX = 300;
/** What a date can hold. */
const TIME = z.number().min(0).max(8.64e15);
const COUNT = z.number().min(0);

const ACT = z.looseObject({ by: z.string(), atMs: TIME, entry: z.string().optional(), result: z.string().optional() });

/** What this version needs of an incident; whatever else stands in it is kept. */
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
  // Version 0.3 stored what it had shown, and the rest, apart.
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

/** What the channels have of an incident. What cannot be read is sent again. */
function deliveredOf([name, json]: [name: string, json: string]): [string, Delivered][] {
  const delivered = DELIVERED.safeParse(jsonValue(json)).data as Delivered | undefined;
  return delivered === undefined ? [] : [[name, delivered]];
}

/** Reads an incident of the book; `undefined` when this version does not know its cause, its version or its shape. */
export function readIncident(id: string, json: string): Incident | undefined {
  const read = INCIDENT.safeParse(jsonValue(json)).data;
  if (read === undefined) return undefined;
  const { named, unnamed, ...rest } = read;
  const incident = { ...rest, occurrences: rest.occurrences ?? [...named, ...unnamed] } as unknown as Incident;
  return incidentOf(incident) === id ? incident : undefined;
}

/** What can be shown of an incident that this version cannot read. */
const SHOWN = z.object({
  cause: z.string().catch(''),
  isOpen: z.boolean().catch(true),
  openedMs: TIME.catch(0),
  lastMs: TIME.catch(0),
  latest: z.string().catch(''),
});

/** What can be read of an incident that this version does not know; empty or 0 is what cannot. */
export function glimpse(json: string): z.infer<typeof SHOWN> {
  return SHOWN.parse(Object(jsonValue(json)));
}

/** The alert of an entry, whoever wrote it: an alert that this version does not know keeps its own words. */
export function alertOf(id: string, json: string | undefined): Alert {
  const alert = readAlert(json);
  if (alert === undefined) return { cause: 'other-version', key: 'alert', text: unreadableText(id, json) };
  return rowOf(alert.cause) ? alert : { ...alert, cause: 'other-version', key: incidentOf(alert) };
}

function unreadableText(id: string, json = ''): string {
  return `An alert is not readable (${id}): ${clip(json, UNREADABLE_CHARS_MAX)}`;
}

/** Incidents that this version does not know, as long as they stand in the book. */
export function unreadCondition(names: readonly string[]): Condition {
  const named = [...names]
    .sort()
    .slice(0, NAMES_MAX)
    .map((name) => clip(name, NAME_CHARS_MAX));
  const more = names.length > named.length ? `, and ${names.length - named.length} more` : '';
  return {
    cause: 'other-version',
    key: 'incidents',
    level: String(names.length),
    text: `The book of incidents holds what this version does not know: ${named.join(', ')}${more}. It is kept as it is, and nothing is done about it.`,
  };
}
