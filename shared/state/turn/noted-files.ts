import { join } from 'node:path';
import type { FilePart } from '../../flow/reply.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Turn } from './turn.ts';

/** The most files that an answer may bring. */
export const FILES_MAX = 10;

export type NotedFiles = ReturnType<typeof notedFiles>;

/**
 * The files that the model wants to send with its answer. They are noted on the message's turn, so they survive a
 * crash, and end with it when there is no answer. Each method rejects when Redis cannot be reached.
 */
export function notedFiles(redis: RedisClient, keys: Keys) {
  const note = bindScript<'noted' | 'full' | 'fenced'>(redis, join(import.meta.dirname, 'note-file.lua'));
  const places = Array.from({ length: FILES_MAX }, (_, at) => `file:${at + 1}`);
  return {
    /**
     * Notes a file, once per call of a tool. `full`: the answer has as many files as it may have. `fenced`: the turn was
     * taken over.
     */
    note({ entry, fencingToken, asWrite }: Turn, call: string, file: FilePart) {
      const args = [call, JSON.stringify(file), FILES_MAX];
      return asWrite((place) => note([keys.turn(entry)], [fencingToken, place, ...args]));
    },
    /** The noted files, in order. */
    async of({ entry }: Turn): Promise<FilePart[]> {
      const stored = await redis.hmget(keys.turn(entry), ...places);
      return stored.flatMap((json) => (json === null ? [] : [JSON.parse(json) as FilePart]));
    },
  };
}
