import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { ChatKey } from '../../shared/redis/keys.ts';
import { chatFiles } from '../../shared/state/blob/kept-files.ts';
import { withFormerGroup } from '../../shared/state/chat/chat.ts';
import { type Blobs, blobId, DamagedBlobError } from '../blob/blobs.ts';
import type { SessionSource } from '../session/archive.ts';

/**
 * The bytes that records only refer to: pictures, PDF files, long texts. Each belongs to one chat, and is stored under its
 * hash, so that the same file is kept once in a chat, however often it is sent there. No chat reads another one's, also
 * where it knows the hash. A group that became a supergroup reads what it had before.
 *
 * Contract: each method rejects when Redis or the blob store cannot be used just now. All are idempotent. Keeping needs
 * no fencing token: one id always means the same bytes, so a turn that was taken over can write nothing wrong.
 */
export type MediaStore = ReturnType<typeof createMediaStore>;

/** Where the files of a shard are kept, and for how long. */
interface MediaSource extends SessionSource {
  retentionDays: number;
  log?: Logger;
  reach?: ReachFailpoint;
}

const SHA256 = /^[0-9a-f]{64}$/;
const DAY_S = 24 * 60 * 60;

/** Opens the media store of a shard. Files from before there was a blob store are read from Redis. */
export function createMediaStore(source: MediaSource) {
  const { redis, keys, blobs, retentionDays, reach } = source;
  const files = chatFiles(redis, keys);
  const ttlS = retentionDays * DAY_S;
  const bytesOf = async (chat: ChatKey, id: string, seconds?: number): Promise<Buffer | undefined> => {
    const kept = await files.find(chat, id, seconds);
    if (kept === undefined || 'bytes' in kept) return kept?.bytes;
    return readable(source, chat, kept.blob);
  };
  const keepBlob = async (store: Blobs, chat: ChatKey, id: string, bytes: Buffer, seconds: number): Promise<void> => {
    const pointer = await files.renew(chat, id, seconds);
    if (pointer !== undefined && (await readable(source, chat, pointer)) !== undefined) return;
    // The bytes first: a crash in between leaves an orphan, and never a pointer to nothing.
    const blob = await store.put(chat, bytes);
    reach?.('file stored');
    await files.point(chat, id, blob, seconds, pointer !== undefined);
  };
  return {
    /** Keeps bytes of a chat for the retention time from now on, or for at least so many seconds, and returns their id. */
    async keep(chat: ChatKey, bytes: Buffer, seconds = ttlS): Promise<string> {
      const id = mediaId(bytes);
      if (blobs === undefined) await files.keepBytes(chat, id, bytes, seconds);
      else await keepBlob(blobs, chat, id, bytes, seconds);
      return id;
    },
    /**
     * Loads what a chat still keeps, and restarts its retention time. Expired and invalid ids are absent from the result,
     * and so are files whose bytes are damaged or gone, which is logged.
     */
    async load(chat: ChatKey, sha256s: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
      const ids = [...new Set(sha256s)].filter((id) => SHA256.test(id));
      const found = await Promise.all(ids.map((id) => ofChat(source, chat, (owner) => bytesOf(owner, id, ttlS))));
      return new Map(ids.flatMap((id, at) => (found[at] ? [[id, found[at]]] : [])));
    },
    /** Reads what a chat still keeps, and leaves its time as it is. */
    read: (chat: ChatKey, sha256: string) => ofChat(source, chat, (owner) => bytesOf(owner, sha256)),
    /** Erases all that is kept for a chat: no reference is left when the first of the bytes goes. */
    async erase(chat: ChatKey): Promise<void> {
      await ofChat(source, chat, async (owner) => {
        await files.erase(owner);
        reach?.('references erased');
        await blobs?.deleteAll(owner);
        return undefined;
      });
    },
  };
}

/** The id under which bytes are kept: their SHA-256, in hex. */
export function mediaId(bytes: Buffer): string {
  return blobId(bytes);
}

/** The first that is found for a chat, or for the group that it was before. */
async function ofChat<Found>(
  { redis, keys }: SessionSource,
  chat: ChatKey,
  find: (owner: ChatKey) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const found = await find(chat);
  if (found !== undefined) return found;
  const [, before] = await withFormerGroup(redis, keys, chat);
  return before === undefined ? undefined : find(before);
}

/** The bytes of a blob of a chat; nothing where they are damaged or gone, which is logged. */
async function readable({ blobs, log }: MediaSource, chat: ChatKey, blob: string): Promise<Buffer | undefined> {
  try {
    const bytes = await blobs?.get(chat, blob);
    if (bytes === undefined) log?.warn({ blob }, 'a kept file is not in the blob store');
    return bytes;
  } catch (error) {
    if (!(error instanceof DamagedBlobError)) throw error;
    log?.warn({ err: error, blob }, 'a kept file is damaged');
    return undefined;
  }
}
