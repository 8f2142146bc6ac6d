import { join } from 'node:path';
import type { Alert } from '../../flow/alert.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { fieldIn, idAfter, isStreamId, type StreamEntry } from '../../redis/stream.ts';
import type { Change } from '../change.ts';

/**
 * Queues an alert, in a fenced write: it is stored in one step with what it reports. The queue has no cap: alerts are
 * folded into incidents within seconds, and every occurrence must be counted.
 */
export function queuedAlert(keys: Keys, alert: Alert): Change {
  return ['XADD', keys.alerts, '*', 'alert', JSON.stringify(alert)];
}

/** Queues an alert by itself. Rejects when Redis cannot be reached. */
export async function queueAlert(redis: RedisClient, keys: Keys, alert: Alert): Promise<void> {
  await redis.call(...queuedAlert(keys, alert));
}

/** The book of incidents as it is stored. */
interface BookFields {
  version: number;
  /** Each incident as JSON, by its name. */
  incidents: ReadonlyMap<string, string>;
  /** What the channels have of each incident, as JSON by its name. */
  delivered: ReadonlyMap<string, string>;
  /** Incidents that could not be read and were stored aside, by their fields. */
  aside: ReadonlyMap<string, string>;
  /** The position up to which each shard's alerts are entered. */
  cursors: ReadonlyMap<number, string>;
}

/** Alerts of one shard that are not in the book yet, as JSON by their ids, and the position of the last one. */
export interface QueuedAlerts {
  shard: number;
  alerts: readonly [id: string, json: string | undefined][];
  upTo: string;
}

/** What is written into the book at once. */
interface BookChange {
  /** Incidents as JSON, by name; an empty text removes one. */
  incidents: readonly (readonly [name: string, json: string])[];
  /** What stood under the name of such an incident and could not be read. */
  aside: readonly (readonly [name: string, json: string])[];
  /** How far the alerts of shards are entered by it. */
  alerts: readonly Pick<QueuedAlerts, 'shard' | 'upTo'>[];
}

const ALERTS_MAX = 500;
const FIELD = 'incident:';
const DELIVERED = 'delivered:';
const CURSOR = 'cursor:';
const ASIDE = 'aside:';

/**
 * The book of incidents in Redis. One book serves the whole installation, and any process may write it.
 *
 * Contract: each method rejects when Redis cannot be reached. An alert is entered once: the position in a shard's
 * alerts is written with the book.
 */
export function incidentBook(redis: RedisClient) {
  const { incidents } = keysOf(0);
  const record = bindScript<0 | 1>(redis, join(import.meta.dirname, 'record-incidents.lua'));
  return {
    read: async (): Promise<BookFields> => bookFields(await redis.hgetall(incidents)),
    /** The alerts after a cursor, oldest first, a few hundred at a time at most. */
    async alertsOf(shard: number, cursor = '0-0'): Promise<QueuedAlerts | undefined> {
      const entries: StreamEntry[] = await redis.xrange(keysOf(shard).alerts, `(${cursor}`, '+', 'COUNT', ALERTS_MAX);
      const upTo = entries.at(-1)?.[0];
      if (upTo === undefined) return undefined;
      return { shard, alerts: entries.map(([id, fields]) => [id, fieldIn(fields, 'alert')]), upTo };
    },
    /** Returns false, and writes nothing, when another process has written since the version was read. */
    async record(version: number, change: BookChange): Promise<boolean> {
      const fields = [
        ...change.aside.flatMap(([name, json]) => [ASIDE + name, json]),
        ...change.incidents.flatMap(([name, json]) => [
          FIELD + name,
          json,
          ...(json === '' ? [DELIVERED + name, ''] : []),
        ]),
        ...change.alerts.flatMap(({ shard, upTo }) => [CURSOR + shard, upTo]),
      ];
      if ((await record([incidents], [version, ...fields])) === 0) return false;
      // If the process dies before this, an alert stays in the stream, and is not entered again: it lies before the cursor.
      const drop = ({ shard, upTo }: BookChange['alerts'][number]) =>
        redis.xtrim(keysOf(shard).alerts, 'MINID', idAfter(upTo));
      await Promise.all(change.alerts.map(drop));
      return true;
    },
  };
}

function bookFields(fields: Readonly<Record<string, string>>): BookFields {
  const all = Object.entries(fields);
  const named = (prefix: string) =>
    all
      .filter(([field]) => field.startsWith(prefix))
      .map(([field, value]) => [field.slice(prefix.length), value] as const);
  return {
    version: Number(fields.version) || 0,
    incidents: new Map(named(FIELD)),
    delivered: new Map(named(DELIVERED)),
    aside: new Map(all.filter(([field]) => field.startsWith(ASIDE))),
    cursors: new Map(named(CURSOR).flatMap(([shard, id]) => (isStreamId(id) ? [[Number(shard), id]] : []))),
  };
}
