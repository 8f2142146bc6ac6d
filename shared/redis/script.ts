import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { RedisClient } from './connection.ts';

/** A Lua script that is bound to a connection. Arguments after the keys are sent as strings. */
export type RunScript<Reply> = (keys: string[], args: (string | number)[]) => Promise<Reply>;

/** The folder of the Lua pieces that several scripts include. */
export const PIECES_FOLDER = join(import.meta.dirname, 'lua');

/** Lua's `unpack` takes about 8,000 values. */
const WORDS_MAX = 7_500;
const INCLUDE = /^-- include: (.+)$/gm;

/**
 * Binds a Lua file to a connection. It runs by its hash and is sent whole only when the server does not know it, so a
 * call costs one round trip. Contract: the promise rejects when Redis cannot be reached or the script fails.
 */
export function bindScript<Reply>(redis: RedisClient, file: string): RunScript<Reply> {
  const name = `spillway:${basename(file, '.lua')}`;
  // A connection learns a script once, however often it is bound.
  if (!(name in redis)) redis.defineCommand(name, { lua: readScript(file) });
  const run = (redis as unknown as Record<string, (...args: unknown[]) => Promise<Reply>>)[name];
  if (!run) throw new Error(`ioredis did not bind ${name}`);
  return (keys, args) => {
    // Neither a call nor Lua takes lists of any length: what may be many is sent in slices.
    if (keys.length + args.length > WORDS_MAX)
      return Promise.reject(new RangeError(`${name} was given ${args.length} arguments`));
    return run.call(redis, keys.length, ...keys, ...args);
  };
}

/** Every shard binds the same files. */
const texts = new Map<string, string>();

/**
 * The text of a Lua file as Redis runs it: the functions of the named pieces replace the line `-- include: one, other`.
 * A file is read once in a process. Throws an error that names the script and the piece when a piece is missing.
 */
export function readScript(file: string): string {
  const known = texts.get(file) ?? assemble(file);
  texts.set(file, known);
  return known;
}

function assemble(file: string): string {
  const pieceOf = (name: string): string => {
    const path = join(PIECES_FOLDER, `${name}.lua`);
    if (!existsSync(path)) throw new Error(`${basename(file)} includes the piece "${name}", and there is none`);
    return readFileSync(path, 'utf8');
  };
  return readFileSync(file, 'utf8').replaceAll(INCLUDE, (_, names: string) =>
    names.split(', ').map(pieceOf).join('\n'),
  );
}
