import { hash } from 'node:crypto';
import type { SessionId } from '../../shared/redis/keys.ts';
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
  return `${owner === 'media' ? `media/${twoDeep(sha256)}` : archiveFolder(owner)}/${sha256}`;
}

/** Where the blobs of an archive are. */
export function archiveFolder(session: SessionId): string {
  if (!SESSION.test(session)) throw new TypeError('a session is named by letters and digits');
  return `archive/${twoDeep(hash('sha256', session))}/${session}`;
}

/** The owner and the hash that a name stands for; `undefined` when it is none of ours. */
export function readBlobName(name: string): { owner: BlobOwner; sha256: string } | undefined {
  const parts = name.split('/');
  const owner = (parts[0] === 'media' ? 'media' : (parts[3] ?? '')) as BlobOwner;
  const sha256 = parts.at(-1) ?? '';
  const isOurs = SHA256_NAME.test(sha256) && (owner === 'media' || SESSION.test(owner));
  return isOurs && blobName(owner, sha256) === name ? { owner, sha256 } : undefined;
}

/** No folder has too many entries. */
function twoDeep(digest: string): string {
  return `${digest.slice(0, 2)}/${digest.slice(2, 4)}`;
}
