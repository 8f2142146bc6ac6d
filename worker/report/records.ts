import type { RedisClient } from '../../shared/redis/connection.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';

const PAGE = 1_000;

/** The `record` texts of a stream since a time, oldest first, read in pages. Contract: as at `ReportSource`. */
export async function* recordTexts(redis: RedisClient, stream: string, fromMs: number): AsyncGenerator<string> {
  for (let from = `${Math.max(0, fromMs)}-0`; ; ) {
    const page = await redis.xrange(stream, from, '+', 'COUNT', PAGE);
    for (const [, fields] of page) yield recordIn(fields);
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < PAGE) return;
    from = `(${last}`;
  }
}

/** The records of a stream since a time, without those that cannot be read. Contract: as at `ReportSource`. */
export async function* recordsSince<T extends object>(
  redis: RedisClient,
  stream: string,
  fromMs: number,
): AsyncGenerator<T> {
  for await (const text of recordTexts(redis, stream, fromMs)) {
    const record = readable<T>(text);
    if (record) yield record;
  }
}

/** The newest records of a stream first, without those that cannot be read, at most `max` looked at. */
export async function* newestRecords<T extends object>(
  redis: RedisClient,
  stream: string,
  max: number,
): AsyncGenerator<T> {
  for (let [to, looked] = ['+', 0]; looked < max; looked += PAGE) {
    const page = await redis.xrevrange(stream, to, '-', 'COUNT', PAGE);
    for (const [, fields] of page) {
      const record = readable<T>(recordIn(fields));
      if (record) yield record;
    }
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < PAGE) return;
    to = `(${last}`;
  }
}

/** Our own fields stand first; those of a dead letter's message follow, and may have any name. */
function recordIn(fields: readonly string[]): string {
  return fieldsOf(fields.slice(0, 4)).get('record') ?? '';
}

function readable<T extends object>(text: string): T | undefined {
  try {
    const record: unknown = JSON.parse(text);
    return typeof record === 'object' && record !== null ? (record as T) : undefined;
  } catch {
    return undefined;
  }
}
