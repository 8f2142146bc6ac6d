import type { Alert } from '../../flow/alert.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { fieldIn, idAfter, isStreamId, type StreamEntry } from '../../redis/stream.ts';
import type { Change } from '../change.ts';

/**
 * A change that queues an alert, for the fenced write that also stores the event which the alert reports. The queue has no
 * limit, because every occurrence must be counted; the alerter empties the queue within seconds.
 */
export function queuedAlert(keys: Keys, alert: Alert): Change {
  return ['XADD', keys.alerts, '*', 'alert', JSON.stringify(alert)];
}

/** Queues an alert without a fenced write. Rejects when Redis cannot be reached. */
export async function queueAlert(redis: RedisClient, keys: Keys, alert: Alert): Promise<void> {
  await redis.call(...queuedAlert(keys, alert));
}

/** The book of incidents as Redis has it. */
interface BookFields {
  version: number;
  /** Each incident as JSON, by its name. */
  incidents: ReadonlyMap<string, string>;
  /** The delivery state of each incident as JSON, by its name. */
  delivered: ReadonlyMap<string, string>;
  /** The texts of unreadable incidents, by the fields to which `record` moved them. */
  aside: ReadonlyMap<string, string>;
  /** For each shard, the id of the last alert that was entered into the book. */
  cursors: ReadonlyMap<number, string>;
}

/** Alerts of one shard that are not in the book yet, each as its id and its JSON, and the id of the last alert. */
export interface QueuedAlerts {
  shard: number;
  alerts: readonly [id: string, json: string | undefined][];
  upTo: string;
}

interface BookChange {
  /** Incidents as JSON, by name; an empty text removes one. */
  incidents: readonly (readonly [name: string, json: string])[];
  /** Unreadable texts that `incidents` replaces. The book keeps them under other fields. */
  aside: readonly (readonly [name: string, json: string])[];
  /** For each shard, the last alert that this change enters. */
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
 * Contract: each method rejects when Redis cannot be reached. An alert is entered once: the write that enters it also
 * advances the shard's cursor.
 */
export function incidentBook(redis: RedisClient) {
  const { incidents } = keysOf(0);
  const record = bindScript<0 | 1>(redis, `${import.meta.dirname}/record-incidents.lua`);
  return {
    read: async (): Promise<BookFields> => bookFields(await redis.hgetall(incidents)),
    /** The alerts after a cursor, oldest first, at most `ALERTS_MAX`; `undefined` if there are none. */
    async alertsOf(shard: number, cursor = '0-0'): Promise<QueuedAlerts | undefined> {
      const entries: StreamEntry[] = await redis.xrange(keysOf(shard).alerts, `(${cursor}`, '+', 'COUNT', ALERTS_MAX);
      const upTo = entries.at(-1)?.[0];
      if (upTo === undefined) return undefined;
      return { shard, alerts: entries.map(([id, fields]) => [id, fieldIn(fields, 'alert')]), upTo };
    },
    /** Writes a change. Returns false, and writes nothing, if the book's version is no longer `version`. */
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
      // If the process dies here, the alerts stay in the stream. They are before the cursor, so they are not entered again.
      const drop = ({ shard, upTo }: BookChange['alerts'][number]) =>
        redis.xtrim(keysOf(shard).alerts, 'MINID', idAfter(upTo));
      await Promise.all(change.alerts.map(drop));
      return true;
    },
  };
}

function bookFields(fields: Readonly<Record<string, string>>): BookFields {
  const all = Object.entries(fields);
  const withPrefix = (prefix: string) =>
    all
      .filter(([field]) => field.startsWith(prefix))
      .map(([field, value]) => [field.slice(prefix.length), value] as const);
  return {
    version: Number(fields.version) || 0,
    incidents: new Map(withPrefix(FIELD)),
    delivered: new Map(withPrefix(DELIVERED)),
    aside: new Map(all.filter(([field]) => field.startsWith(ASIDE))),
    cursors: new Map(withPrefix(CURSOR).flatMap(([shard, id]) => (isStreamId(id) ? [[Number(shard), id]] : []))),
  };
}
