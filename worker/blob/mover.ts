import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, parseChatKey, type SessionId } from '../../shared/redis/keys.ts';
import { keysBehind } from '../../shared/redis/scan.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { type Blobs, blobId, NOBODY } from './blobs.ts';
import { encodePointer } from './pointer.ts';

export interface MoverPorts {
  redis: RedisClient;
  keys: Keys;
  blobs: Blobs;
  log: Logger;
  /** How many records a segment holds; `undefined` when it is damaged. */
  countRecords: (segment: Buffer) => Promise<number | undefined>;
}

/** How much was moved. */
export interface Moved {
  files: number;
  segments: number;
}

const SEGMENTS_AT_ONCE = 32;

/**
 * Moves what earlier versions kept in Redis: the bytes of files, and segments in the lists of archives. Each is stored
 * first, and then replaced by its pointer in one atomic step, unless it was erased meanwhile. What is damaged stays
 * where it is.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now; an item that cannot be moved is logged, and
 * holds up no other. May be repeated, and run by several processes at once. The returned function stops between two
 * items when it is aborted.
 */
export function createMover({ redis, keys, blobs, log, countRecords }: MoverPorts) {
  const script = (name: string) => bindScript<number>(redis, join(import.meta.dirname, name));
  const [replaceFile, replaceSegment] = [script('move-file.lua'), script('move-segment.lua')];
  const unmoved = bindScript<number[]>(redis, join(import.meta.dirname, 'unmoved.lua'));

  const moveFile = async (name: string): Promise<number> => {
    const [sha256 = '', of = ''] = name.split(':').reverse();
    const chat = parseChatKey(of)?.chat;
    const bytes = await redis.getBuffer(keys.media(name));
    if (bytes === null || blobId(bytes) !== sha256) return 0;
    await blobs.put(chat ?? NOBODY, bytes);
    return replaceFile([keys.media(name), keys.blob(name)], [bytes.length]);
  };
  const moveSegment = async (session: SessionId, index: number): Promise<number> => {
    const packed = await redis.lindexBuffer(keys.archive(session), index);
    const records = packed === null ? undefined : await countRecords(packed);
    if (packed === null || records === undefined) return 0;
    const pointer = { sha256: await blobs.put(session, packed), records, bytes: packed.length };
    return replaceSegment([keys.archive(session)], [index, hash('sha1', packed), encodePointer(pointer)]);
  };
  const moveArchive = async (session: SessionId, signal: AbortSignal): Promise<number> => {
    let moved = 0;
    for (const index of await unmoved([keys.archive(session)], [SEGMENTS_AT_ONCE]))
      if (!signal.aborted) moved += await moveSegment(session, index);
    return moved;
  };
  return async (signal: AbortSignal): Promise<Moved> => {
    const moved = { files: 0, segments: 0 };
    for await (const name of keysBehind(redis, keys.media('')))
      if (!signal.aborted) moved.files += await unlessUnusable(log, moveFile(name));
    for await (const session of keysBehind(redis, keys.archive('' as SessionId)))
      if (!signal.aborted) moved.segments += await unlessUnusable(log, moveArchive(session as SessionId, signal));
    return moved;
  };
}

/** A key of another type is nothing that we wrote. */
async function unlessUnusable(log: Logger, work: Promise<number>): Promise<number> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Error) || !/^(?:WRONGTYPE|ERR)\b/.test(error.message)) throw error;
    log.warn({ err: error }, 'something could not be moved into the blob store');
    return 0;
  }
}
