import type { FilePart } from '../../flow/reply.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Turn } from './turn.ts';

/** The maximum number of files of an answer. */
export const FILES_MAX = 10;

export type NotedFiles = ReturnType<typeof notedFiles>;

/**
 * The files that the model wants to send with its answer. The message's turn stores these files, so they survive a crash and
 * expire with the turn. Each method rejects when Redis cannot be reached.
 */
export function notedFiles(redis: RedisClient, keys: Keys) {
  const note = bindScript<'noted' | 'full' | 'fenced'>(redis, `${import.meta.dirname}/note-file.lua`);
  const fieldNames = Array.from({ length: FILES_MAX }, (_, at) => `file:${at + 1}`);
  return {
    /** Stores a file, once per call of a tool. `full`: there are `FILES_MAX` files. `fenced`: the attempt may not write. */
    note({ entry, fencingToken, asWrite }: Turn, call: string, file: FilePart) {
      const args = [call, JSON.stringify(file), FILES_MAX];
      return asWrite((writeNumbers) => note([keys.turn(entry)], [fencingToken, writeNumbers, ...args]));
    },
    /** The stored files, in the order in which they were stored. */
    async of({ entry }: Turn): Promise<FilePart[]> {
      const files = await redis.hmget(keys.turn(entry), ...fieldNames);
      return files.flatMap((json) => (json === null ? [] : [JSON.parse(json) as FilePart]));
    },
  };
}
