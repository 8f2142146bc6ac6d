import { hash } from 'node:crypto';
import type { ChatKey, SessionId } from '../../shared/redis/keys.ts';

/** The chat whose file a blob is, or the session whose archive it is a part of. */
export type BlobOwner = ChatKey | SessionId;

/** Blobs of one owner that were put before a time. */
export interface OldBlobs {
  owner: BlobOwner;
  sha256s: readonly string[];
}

/**
 * Bytes outside of Redis' memory, for one shard. A blob is named by its owner and the SHA-256 of its bytes, so one name
 * always means the same bytes. Redis holds the pointers: a blob without one is an orphan, and is removed some time
 * later.
 *
 * Contract: each method may be repeated, and called by several processes at once. Each rejects with `BlobStoreError`
 * when the store cannot be used just now: then nothing is known about what was asked.
 */
export interface Blobs {
  /**
   * Stores bytes and returns their id. When it resolves they survive a crash of the machine, and count as new again.
   */
  put(owner: BlobOwner, bytes: Buffer): Promise<string>;
  /** The bytes, verified; `undefined` when there are none. Rejects with `DamagedBlobError` when they are not intact. */
  get(owner: BlobOwner, sha256: string): Promise<Buffer | undefined>;
  /** Removes a blob at once, for whoever knows that nothing refers to it. One that is gone is no failure. */
  delete(owner: BlobOwner, sha256: string): Promise<void>;
  /** Removes everything of a chat or of an archive. */
  deleteAll(owner: BlobOwner): Promise<void>;
  /** The blobs that were last put before `beforeMs`, in portions. Also tidies up what killed writes left behind. */
  oldBlobs(beforeMs: number): AsyncIterable<OldBlobs>;
  /** Removes a blob unless it was put since `beforeMs`, also at this very moment. Returns whether it did. */
  deleteOld(owner: BlobOwner, sha256: string, beforeMs: number): Promise<boolean>;
}

/** A blob whose bytes are not those that were put. */
export class DamagedBlobError extends Error {
  override readonly name = 'DamagedBlobError';
}

/** A store that cannot be used just now: a full disk, one that is not there, a folder of somebody else. */
export class BlobStoreError extends Error {
  override readonly name = 'BlobStoreError';
  /** What the system calls it, as ENOSPC. */
  readonly code: string;

  constructor(cause: NodeJS.ErrnoException) {
    super(`the blob store cannot be used: ${cause.message}`, { cause });
    this.code = cause.code ?? 'unknown';
  }
}

/** Runs work on files, and makes of an error of the system one of the store. */
export async function inStore<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const ofTheSystem = error as NodeJS.ErrnoException;
    throw typeof ofTheSystem.syscall === 'string' ? new BlobStoreError(ofTheSystem) : error;
  }
}

/** The id of bytes: their SHA-256, in hex. */
export function blobId(bytes: Buffer): string {
  return hash('sha256', bytes);
}
