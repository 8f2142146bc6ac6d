import { hash } from 'node:crypto';
import { type ChatKey, parseChatKey } from '../../shared/redis/keys.ts';
import type { BlobOwner } from './blobs.ts';

/** What names the bytes of a blob. */
export const SHA256_NAME = /^[0-9a-f]{64}$/;
const SESSION = /^[\w-]{1,100}$/;

/**
 * Where a blob is below its shard, in a folder as in a bucket, so that one can be copied into the other. Throws a
 * `TypeError` for what names none: a name must never lead elsewhere.
 */
export function blobName(owner: BlobOwner, sha256: string): string {
  if (!SHA256_NAME.test(sha256)) throw new TypeError('a blob is named by a SHA-256 in hex');
  return `${folderOf(owner)}/${sha256}`;
}

/** Where the blobs of a chat or of an archive are. Throws as `blobName`. */
export function folderOf(owner: BlobOwner): string {
  const isChat = chatOfBlobs(owner) !== undefined;
  if (!isChat && !SESSION.test(owner)) throw new TypeError('a chat or a session is named by letters and digits');
  return `${isChat ? 'media' : 'archive'}/${twoDeep(hash('sha256', owner))}/${owner}`;
}

/** The chat that owns blobs; `undefined` where they are an archive's. A session's id is no number. */
export function chatOfBlobs(owner: BlobOwner): ChatKey | undefined {
  return parseChatKey(owner)?.chat;
}

/** The owner and the hash that a name stands for; `undefined` when it is none of ours. */
export function readBlobName(name: string): { owner: BlobOwner; sha256: string } | undefined {
  const parts = name.split('/');
  const owner = (parts[3] ?? '') as BlobOwner;
  const sha256 = parts.at(-1) ?? '';
  const isOurs = SHA256_NAME.test(sha256) && (chatOfBlobs(owner) !== undefined || SESSION.test(owner));
  return isOurs && blobName(owner, sha256) === name ? { owner, sha256 } : undefined;
}

/** No folder has too many entries. */
function twoDeep(digest: string): string {
  return `${digest.slice(0, 2)}/${digest.slice(2, 4)}`;
}
