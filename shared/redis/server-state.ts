import type { Redis } from 'ioredis';
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
  /** The policy by which it would remove data when it is full; absent where it removes none. */
  evicts?: string;
  /** Whether it writes its data to disk, by an append-only file or by snapshots; unknown where it does not tell. */
  isOnDisk: boolean | 'unknown';
}

/** Each server has its own memory and files; the first one that is full, or cannot write, refuses messages. Rejects when one cannot be reached. */
export async function readServers(redis: RedisClient): Promise<RedisState> {
  const all = await Promise.all(serversOf(redis).map(readServer));
  const fullest = all.reduce((worst, each) => (shareOf(each) > shareOf(worst) ? each : worst));
  const unwritten = all.find((each) => each.unwritten !== undefined)?.unwritten;
  const evicts = all.find((each) => each.evicts !== undefined)?.evicts;
  const isOnDisk = all.find((each) => each.isOnDisk !== true)?.isOnDisk ?? true;
  return {
    ...fullest,
    isOnDisk,
    ...(unwritten !== undefined && { unwritten }),
    ...(evicts !== undefined && { evicts }),
  };
}

/** The report of one server about itself. Rejects when it cannot be reached. */
export async function readServer(server: Redis): Promise<RedisState> {
  const info = (await Promise.all(SECTIONS.map((section) => server.info(section)))).join('\n');
  if (/^aof_enabled:1/m.test(info)) return stateOf(info, true);
  const [, schedule] = (await server.config('GET', 'save').catch(() => [])) as string[];
  return stateOf(info, schedule === undefined ? 'unknown' : schedule !== '');
}

/** A server without a limit is never full, so any of them will do. */
function shareOf({ usedBytes, maxBytes }: RedisState): number {
  return maxBytes === 0 ? 0 : usedBytes / maxBytes;
}

const SECTIONS = ['memory', 'persistence', 'replication'] as const;
const WRITES = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'];

function stateOf(info: string, isOnDisk: RedisState['isOnDisk']): RedisState {
  const value = (name: string): string | undefined => new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
  const number = (name: string): number => Number(value(name) ?? 0);
  const unwritten = WRITES.find((name) => (value(name) ?? 'ok') !== 'ok');
  const policy = value('maxmemory_policy') ?? '';
  const maxBytes = number('maxmemory');
  const state = { role: value('role') ?? '', usedBytes: number('used_memory'), maxBytes, isOnDisk };
  const evicts = maxBytes > 0 && !['', 'noeviction'].includes(policy) ? { evicts: policy } : {};
  return { ...state, ...evicts, ...(unwritten !== undefined && { unwritten }) };
}

/** The replies of a server that takes no writes just now, whatever is written, and what an operator calls each state. */
const REFUSALS: readonly (readonly [reply: RegExp, state: string])[] = [
  [/\bREADONLY\b/, 'is a read-only replica'],
  [/\bOOM\b/, 'is full (maxmemory)'],
  [/\bMISCONF\b/, 'cannot write its files'],
  [/\bLOADING\b/, 'is still loading its data'],
  [/\bNOREPLICAS\b/, 'has too few replicas to accept writes'],
  [/\b(?:NOAUTH|WRONGPASS|NOPERM)\b/, 'does not accept our user or password'],
  [/\bBUSY\b/, 'is busy with a script'],
  [/\b(?:CLUSTERDOWN|MASTERDOWN|TRYAGAIN)\b/, 'is not served by a part of its cluster'],
];

/**
 * Why Redis refuses a command whatever it says, in words that follow "Redis"; `undefined` for any other error. The reply
 * may be wrapped in the words of a script. A refusal says nothing about the message in progress: it waits, as in any
 * outage of Redis.
 */
export function refusalOf(error: unknown): string | undefined {
  return error instanceof Error ? REFUSALS.find(([reply]) => reply.test(error.message))?.[1] : undefined;
}
