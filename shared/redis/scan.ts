import { type RedisClient, serversOf } from './connection.ts';

const SCANNED = 1_000;

/** What follows a prefix in the keys of all servers, in pieces that keep none of them busy. Rejects as Redis does. */
export async function* keysBehind(redis: RedisClient, prefix: string): AsyncGenerator<string> {
  for (const server of serversOf(redis)) {
    let cursor = '0';
    do {
      const [next, found] = await server.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', SCANNED);
      for (const key of found) yield key.slice(prefix.length);
      cursor = next;
    } while (cursor !== '0');
  }
}
