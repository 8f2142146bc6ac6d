import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { RedisClient } from './connection.ts';

/** Runs a Lua script on the connection to which the script is bound. Redis gets the arguments as strings. */
export type RunScript<Reply> = (keys: string[], args: (string | number)[]) => Promise<Reply>;

/** The folder of the pieces: Lua files that several scripts include. */
export const PIECES_FOLDER = join(import.meta.dirname, 'lua');

/** The maximum number of keys and arguments of a call. Lua's `unpack` takes about 8,000 values. */
const WORDS_MAX = 7_500;
const INCLUDE = /^-- include: (.+)$/gm;

/**
 * Binds a Lua file to a connection. ioredis runs the script by its hash, and sends its text only to a server that does not know
 * the hash, so most calls cost one round trip. Contract: a call rejects if it has too many arguments, if Redis cannot be
 * reached, or if the script fails.
 */
export function bindScript<Reply>(redis: RedisClient, file: string): RunScript<Reply> {
  const name = `spillway:${basename(file, '.lua')}`;
  // A connection needs each script only once.
  if (!(name in redis)) redis.defineCommand(name, { lua: readScript(file) });
  const run = (redis as unknown as Record<string, (...args: unknown[]) => Promise<Reply>>)[name];
  if (!run) throw new Error(`ioredis did not bind ${name}`);
  return (keys, args) => {
    // A caller with a long list must send it in slices.
    if (keys.length + args.length > WORDS_MAX)
      return Promise.reject(new RangeError(`${name} was given ${args.length} arguments`));
    return run.call(redis, keys.length, ...keys, ...args);
  };
}

/** The texts that this process has read, by file. Every shard binds the same files. */
const texts = new Map<string, string>();

/**
 * The text of a Lua file for Redis, in which the texts of pieces replace the line `-- include: one, other`. A process reads
 * each file once. If a piece is missing, throws an error that names the script and the piece.
 */
export function readScript(file: string): string {
  const text = texts.get(file) ?? assemble(file);
  texts.set(file, text);
  return text;
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
