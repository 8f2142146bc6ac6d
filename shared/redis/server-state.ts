import type { Redis } from 'ioredis';
import { type RedisClient, serversOf } from './connection.ts';

/** The state of a Redis server; for several servers, the role and sizes of the fullest and the problems of all. */
export interface RedisState {
  /** The role as Redis calls it: `master` or `slave`. */
  role: string;
  usedBytes: number;
  /** The memory limit; 0 if there is none. */
  maxBytes: number;
  /** The field of `INFO` that reports a failed write of a file; absent if no write failed. */
  unwritten?: string;
  /** The policy by which the server removes data once it is full; absent if the server never removes data. */
  evicts?: string;
  /** Whether the server writes its data to disk, with an append-only file or snapshots; `unknown` if the server hides this. */
  isOnDisk: boolean | 'unknown';
}

/** Reads the states of all servers and combines them into one. Rejects when a server cannot be reached. */
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

/** Reads the state of one server. Rejects when the server cannot be reached. */
export async function readServer(server: Redis): Promise<RedisState> {
  const info = (await Promise.all(SECTIONS.map((section) => server.info(section)))).join('\n');
  if (/^aof_enabled:1/m.test(info)) return stateOf(info, true);
  const [, schedule] = (await server.config('GET', 'save').catch(() => [])) as string[];
  return stateOf(info, schedule === undefined ? 'unknown' : schedule !== '');
}

/** The used share of a server's memory limit; 0 without a limit. */
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

/** The errors of a server that refuses every write at the moment, with words that follow "Redis", for operators. */
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
 * The reason why Redis refuses every write, in words that follow "Redis"; `undefined` for any other error. A script's error may
 * have text around Redis' own words. No single message causes such a refusal, so callers let the message wait.
 */
export function refusalOf(error: unknown): string | undefined {
  return error instanceof Error ? REFUSALS.find(([reply]) => reply.test(error.message))?.[1] : undefined;
}
