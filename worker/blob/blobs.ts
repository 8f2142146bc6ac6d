import { hash, randomBytes } from 'node:crypto';
import { type ChatKey, parseChatKey, type SessionId } from '../../shared/redis/keys.ts';

/** The chat whose file a blob is, or the session whose archive it is a part of. */
export type BlobOwner = ChatKey | SessionId;

/** Blobs of one owner that were put before a time. */
interface OldBlobs {
  owner: BlobOwner;
  names: readonly string[];
}

/**
 * Bytes outside of Redis' memory, for one shard. Each put makes a blob of its own, under a name that was never used
 * before: the SHA-256 of its bytes, and a random part. Redis holds the pointers. A blob without one is an orphan, and is
 * removed some time later; since no put ever brings its name back, the removal can take nothing that is wanted.
 *
 * Contract: each method may be repeated, and called by several processes at once. Each rejects with `BlobStoreError`
 * when the store cannot be used just now: then nothing is known about what was asked.
 */
export interface Blobs {
  /** Stores bytes and returns the name of the blob. When it resolves they survive a crash of the machine. */
  put(owner: BlobOwner, bytes: Buffer): Promise<string>;
  /** The bytes, verified; `undefined` when there are none. Rejects with `DamagedBlobError` when they are not intact. */
  get(owner: BlobOwner, name: string): Promise<Buffer | undefined>;
  /** Removes a blob that nothing refers to. One that is gone is no failure. */
  delete(owner: BlobOwner, name: string): Promise<void>;
  /** Removes everything of a chat or of an archive. */
  deleteAll(owner: BlobOwner): Promise<void>;
  /** The blobs that were put before `beforeMs`, in portions. Also tidies up what killed writes left behind. */
  oldBlobs(beforeMs: number): AsyncIterable<OldBlobs>;
}

/**
 * A place outside of Redis for the blobs of all shards.
 *
 * Contract: each method may be repeated, and rejects with `BlobStoreError` when the place cannot be used just now.
 */
export interface BlobStore {
  /** Where it is, for the operator. Holds no keys. */
  readonly name: string;
  /** The blobs of a shard. Touches nothing yet. */
  blobsOf(shard: number): Blobs;
  /** The id of the place; `undefined` when it has none yet, or does not exist. */
  readId(): Promise<string | undefined>;
  /** The same; a place without an id is given one. Of several processes that do so at once one is first. */
  id(): Promise<string>;
  /** Writes and removes something. Returns `false` where the place is yet to be made, at the first start. */
  probe(): Promise<boolean>;
}

/** The name, in a folder and in a bucket, of what holds the id of a store. */
export const STORE_MARK = 'store-id';
/** The form of a store's id. */
export const STORE_ID = /^[\da-f-]{36}$/;

/** A blob whose bytes are not those that were put. */
export class DamagedBlobError extends Error {
  override readonly name = 'DamagedBlobError';
}

/** A store that cannot be used just now: a full disk, one that is not there, a folder of somebody else. */
export class BlobStoreError extends Error {
  override readonly name = 'BlobStoreError';
  /** The system's name for it, as ENOSPC. */
  readonly code: string;

  constructor(cause: NodeJS.ErrnoException) {
    super(`the blob store cannot be used: ${cause.message}`, { cause });
    this.code = cause.code ?? 'unknown';
  }
}

const SHA256_CHARS = 64;
const RANDOM_BYTES = 6;
const NAME = /^[0-9a-f]{64}-[0-9a-f]{12}$/;
const SESSION = /^[\w-]{1,100}$/;

/** The SHA-256 of bytes, in hex. */
export function blobId(bytes: Buffer): string {
  return hash('sha256', bytes);
}

/** A new name for a blob of these bytes. */
export function newBlobName(bytes: Buffer): string {
  return `${blobId(bytes)}-${randomBytes(RANDOM_BYTES).toString('hex')}`;
}

/** The SHA-256, in hex, of the bytes that a blob was made of. */
export function sha256In(name: string): string {
  return name.slice(0, SHA256_CHARS);
}

/** The bytes that were read under a name, if there were any. Throws `DamagedBlobError` when they are not those put. */
export function intact(name: string, bytes: Buffer | undefined): Buffer | undefined {
  if (bytes !== undefined && blobId(bytes) !== sha256In(name)) throw new DamagedBlobError(`blob ${name} is damaged`);
  return bytes;
}

/**
 * Where a blob is below its shard, in a folder as in a bucket, so that one can be copied into the other. Throws a
 * `TypeError` for what names none: a name must never lead elsewhere.
 */
export function blobPath(owner: BlobOwner, name: string): string {
  if (!isBlobName(name)) throw new TypeError('a blob is named by a SHA-256 and a random part, in hex');
  return `${folderOf(owner)}/${name}`;
}

/** Whether a put could have made this name. */
export function isBlobName(name: string): boolean {
  return NAME.test(name);
}

/** Where the blobs of a chat or of an archive are, so that no folder has too many entries. Throws as `blobPath`. */
export function folderOf(owner: BlobOwner): string {
  const isChat = chatOfBlobs(owner) !== undefined;
  if (!isChat && !SESSION.test(owner)) throw new TypeError('a chat or a session is named by letters and digits');
  const digest = hash('sha256', owner);
  return `${isChat ? 'media' : 'archive'}/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${owner}`;
}

/** The chat that owns blobs; `undefined` where they are an archive's. A session's id is no number. */
export function chatOfBlobs(owner: BlobOwner): ChatKey | undefined {
  return parseChatKey(owner)?.chat;
}

/** The owner and the name that a path stands for; `undefined` when it is none of ours. */
export function readBlobPath(path: string): { owner: BlobOwner; name: string } | undefined {
  const parts = path.split('/');
  const owner = (parts[3] ?? '') as BlobOwner;
  const name = parts.at(-1) ?? '';
  const isOurs = isBlobName(name) && (chatOfBlobs(owner) !== undefined || SESSION.test(owner));
  return isOurs && blobPath(owner, name) === path ? { owner, name } : undefined;
}
