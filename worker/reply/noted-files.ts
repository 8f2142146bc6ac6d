import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { type Attempt, FencedError } from '../lane/attempt.ts';
import type { FilePart } from './part.ts';

/**
 * The files that the model wants to send with its answer. They are noted on the message's turn, so they survive a
 * crash, and end with it when there is no answer.
 *
 * Contract: rejects when Redis cannot be reached. `note` throws `FencedError` when the turn was taken over, and changes
 * nothing when the same call noted a file before; `full` says that the answer has as many files as it may have.
 */
export interface NotedFiles {
  note(attempt: Attempt, call: string, file: FilePart): Promise<'noted' | 'full'>;
  /** The noted files, in order. */
  of(attempt: Attempt): Promise<FilePart[]>;
}

/** The most files that an answer may bring. */
export const FILES_MAX = 10;

/** The noted files of the turns of one shard. */
export function createNotedFiles(redis: RedisClient, keys: Keys): NotedFiles {
  const note = bindScript<'noted' | 'full' | 'fenced'>(redis, join(import.meta.dirname, 'note-file.lua'));
  const places = Array.from({ length: FILES_MAX }, (_, at) => `file:${at + 1}`);
  return {
    async note(attempt, call, file) {
      const { entry, fencingToken } = attempt;
      const args = (number: number) => [fencingToken, number, call, JSON.stringify(file), FILES_MAX];
      const noted = await attempt.asWrite((number) => note([keys.turn(entry)], args(number)));
      if (noted === 'fenced') throw new FencedError();
      return noted;
    },
    async of({ entry }) {
      const stored = await redis.hmget(keys.turn(entry), ...places);
      return stored.flatMap((json) => (json === null ? [] : [JSON.parse(json) as FilePart]));
    },
  };
}
