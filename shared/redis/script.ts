import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { RedisClient } from './connection.ts';

/** A Lua script that is bound to a connection. Arguments after the keys are sent as strings. */
export type RunScript<Reply> = (keys: string[], args: (string | number)[]) => Promise<Reply>;

/**
 * Binds a Lua file to a connection. It runs by its hash and is sent whole only when the server does not know it, so a
 * call costs one round trip. Contract: the promise rejects when Redis cannot be reached or the script fails.
 */
export function bindScript<Reply>(redis: RedisClient, file: string): RunScript<Reply> {
  const name = `spillway:${basename(file, '.lua')}`;
  redis.defineCommand(name, { lua: readFileSync(file, 'utf8') });
  const run = (redis as unknown as Record<string, (...args: unknown[]) => Promise<Reply>>)[name];
  if (!run) throw new Error(`ioredis did not bind ${name}`);
  return (keys, args) => run.call(redis, keys.length, ...keys, ...args);
}
