import { hash, randomBytes } from 'node:crypto';
import { type ChatKey, parseChatKey, type SessionId } from '../../shared/redis/keys.ts';

/** The owner of a blob: a chat for a file, or a session for a segment of its archive. */
export type BlobOwner = ChatKey | SessionId;

/**
 * The blobs of one shard: bytes outside of Redis' memory. Each put makes a new blob under a new name: the SHA-256 of its bytes
 * and a random part. Redis holds a pointer to each blob in use. A blob without a pointer is an orphan, which a sweep removes
 * later. No put uses the name of an earlier blob, so the sweep never removes a blob that is in use.
 *
 * Contract: each method may be repeated, and called by several processes at once. Each rejects with `BlobStoreError` while the
 * store is unusable; the method may or may not have taken effect.
 */
export interface Blobs {
  /** Stores bytes and returns the name of the blob. When this resolves, the bytes survive a crash of the machine. */
  put(owner: BlobOwner, bytes: Buffer): Promise<string>;
  /** Returns the verified bytes; `undefined` if there is no such blob. Rejects with `DamagedBlobError` if they are damaged. */
  get(owner: BlobOwner, name: string): Promise<Buffer | undefined>;
  /** Removes a blob that nothing refers to. A missing blob is not a failure. */
  delete(owner: BlobOwner, name: string): Promise<void>;
  /** Removes all blobs of a chat or of an archive. */
  deleteAll(owner: BlobOwner): Promise<void>;
  /** Yields the blobs that were put before `beforeMs`, in batches. A folder store also removes old partial files. */
  oldBlobs(beforeMs: number): AsyncIterable<{ owner: BlobOwner; names: readonly string[] }>;
}

/**
 * A place outside of Redis for the blobs of all shards.
 *
 * Contract: each method may be repeated, and rejects with `BlobStoreError` while the place is unusable.
 */
export interface BlobStore {
  /** The location of the store, for operators. It contains no access keys. */
  readonly name: string;
  /** The blobs of a shard. Does not access the place yet. */
  blobsOf(shard: number): Blobs;
  /** Reads the id of the place; `undefined` if it has none yet, or does not exist. */
  readId(): Promise<string | undefined>;
  /** Reads the id of the place, and creates a missing one. Several processes that do so at once get the same id. */
  id(): Promise<string>;
  /** Writes and removes a test file. Returns `false` if the folder does not exist yet, but could be created. */
  probe(): Promise<boolean>;
}

/** The name of the file or object that contains the id of a store. */
export const STORE_MARK = 'store-id';
/** The form of a store's id. */
export const STORE_ID = /^[\da-f-]{36}$/;

/** The bytes of a blob are not those that were put, or the disk cannot read them. */
export class DamagedBlobError extends Error {
  override readonly name = 'DamagedBlobError';
}

/** A store is unusable, e.g. because its disk is full or missing, or because its folder belongs to another user. */
export class BlobStoreError extends Error {
  override readonly name = 'BlobStoreError';
  /** The code of the system's or the server's error, such as ENOSPC; `unknown` without a code. */
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

/** The SHA-256, in hex, in the name of a blob. */
export function sha256In(name: string): string {
  return name.slice(0, SHA256_CHARS);
}

/** Returns the bytes that were read under a name, if any. Throws `DamagedBlobError` if the name has another SHA-256. */
export function verify(name: string, bytes: Buffer | undefined): Buffer | undefined {
  if (bytes !== undefined && blobId(bytes) !== sha256In(name)) throw new DamagedBlobError(`blob ${name} is damaged`);
  return bytes;
}

/**
 * The path of a blob below the folder of its shard. Paths are the same in a folder and in a bucket, so that the files of one
 * store can be copied into another. Throws a `TypeError` for a malformed owner or name, which could lead to other files.
 */
export function blobPath(owner: BlobOwner, name: string): string {
  if (!isBlobName(name)) throw new TypeError('a blob is named by a SHA-256 and a random part, in hex');
  return `${folderOf(owner)}/${name}`;
}

/** Whether a put could have made this name. */
export function isBlobName(name: string): boolean {
  return NAME.test(name);
}

/** The folder of an owner's blobs. Two levels of hashes keep each folder small. Throws a `TypeError` for a malformed owner. */
export function folderOf(owner: BlobOwner): string {
  const isChat = chatOfBlobs(owner) !== undefined;
  if (!isChat && !SESSION.test(owner)) throw new TypeError('a chat or a session is named by letters and digits');
  const digest = hash('sha256', owner);
  return `${isChat ? 'media' : 'archive'}/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${owner}`;
}

/** The chat that owns blobs; `undefined` for an archive, since the id of a session never looks like a chat key. */
export function chatOfBlobs(owner: BlobOwner): ChatKey | undefined {
  return parseChatKey(owner)?.chat;
}

/** Parses the owner and the name in a path; `undefined` if the gateway stores no blob under such a path. */
export function readBlobPath(path: string): { owner: BlobOwner; name: string } | undefined {
  const parts = path.split('/');
  const owner = (parts[3] ?? '') as BlobOwner;
  const name = parts.at(-1) ?? '';
  const isOurs = isBlobName(name) && (chatOfBlobs(owner) !== undefined || SESSION.test(owner));
  return isOurs && blobPath(owner, name) === path ? { owner, name } : undefined;
}
