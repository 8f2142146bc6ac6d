import { type RedisClient, serversOf } from './connection.ts';

/** The servers' report about themselves; of several, that of the one in the worst state. */
export interface RedisState {
  /** As Redis calls it: `master` or `slave`. */
  role: string;
  usedBytes: number;
  /** 0 when there is no limit. */
  maxBytes: number;
  /** Which of its files it could not write, in Redis' own words; absent when all is well. */
  unwritten?: string;
}

/** Each server has its own memory and files; the first one that is full, or cannot write, refuses messages. Rejects when one cannot be reached. */
export async function readServers(redis: RedisClient): Promise<RedisState> {
  const all = await Promise.all(
    serversOf(redis).map(async (server) =>
      stateOf((await Promise.all(SECTIONS.map((section) => server.info(section)))).join('\n')),
    ),
  );
  const fullest = all.reduce((worst, each) => (shareOf(each) > shareOf(worst) ? each : worst));
  const unwritten = all.find((each) => each.unwritten !== undefined)?.unwritten;
  return { ...fullest, ...(unwritten !== undefined && { unwritten }) };
}

/** A server without a limit is never full, so any of them will do. */
function shareOf({ usedBytes, maxBytes }: RedisState): number {
  return maxBytes === 0 ? 0 : usedBytes / maxBytes;
}

const SECTIONS = ['memory', 'persistence', 'replication'] as const;
const WRITES = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'];

function stateOf(info: string): RedisState {
  const value = (name: string): string | undefined => new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
  const number = (name: string): number => Number(value(name) ?? 0);
  const unwritten = WRITES.find((name) => (value(name) ?? 'ok') !== 'ok');
  const state = { role: value('role') ?? '', usedBytes: number('used_memory'), maxBytes: number('maxmemory') };
  return unwritten === undefined ? state : { ...state, unwritten };
}
