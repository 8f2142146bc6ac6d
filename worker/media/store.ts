import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { ChatKey } from '../../shared/redis/keys.ts';
import { chatFiles } from '../../shared/state/blob/kept-files.ts';
import { withFormerGroup } from '../../shared/state/chat/chat.ts';
import { type Blobs, blobId, DamagedBlobError } from '../blob/blobs.ts';
import type { SessionSource } from '../session/archive.ts';

/**
 * Stores the bytes that records only refer to: pictures, PDF files, long texts. Each file belongs to one chat, under the hash
 * of its bytes, so a chat has one copy of a file however often people send it. No chat can read a file of another chat, even
 * with the file's hash. A group that became a supergroup can read its earlier files.
 *
 * Contract: each method rejects while Redis or the blob store is unavailable. All are idempotent. Writes need no fencing token:
 * an id always means the same bytes, so an attempt that a newer one has replaced can write nothing wrong.
 */
export type MediaStore = ReturnType<typeof createMediaStore>;

/** The stores of a shard, and the retention time of its files. */
interface MediaSource extends SessionSource {
  retentionDays: number;
  log?: Logger;
  reach?: ReachFailpoint;
}

const SHA256 = /^[0-9a-f]{64}$/;
const DAY_S = 24 * 60 * 60;

/** Opens the media store of a shard. Files that Redis stored before the installation had a blob store stay readable. */
export function createMediaStore(source: MediaSource) {
  const { redis, keys, blobs, retentionDays, reach } = source;
  const files = chatFiles(redis, keys);
  const ttlS = retentionDays * DAY_S;
  const bytesOf = async (chat: ChatKey, id: string, seconds?: number): Promise<Buffer | undefined> => {
    const file = await files.find(chat, id, seconds);
    if (file === undefined || 'bytes' in file) return file?.bytes;
    return readBlob(source, chat, file.blob);
  };
  const keepBlob = async (store: Blobs, chat: ChatKey, id: string, bytes: Buffer, seconds: number): Promise<void> => {
    const pointer = await files.renew(chat, id, seconds);
    if (pointer !== undefined && (await readBlob(source, chat, pointer)) !== undefined) return;
    // Store the bytes before the pointer: a crash in between leaves an orphan, and never a pointer to missing bytes.
    const blob = await store.put(chat, bytes);
    reach?.('file stored');
    await files.point(chat, id, blob, seconds, pointer !== undefined);
  };
  return {
    /** Stores bytes of a chat for at least `seconds` from now on, by default for the retention time. Returns their id. */
    async keep(chat: ChatKey, bytes: Buffer, seconds = ttlS): Promise<string> {
      const id = mediaId(bytes);
      if (blobs === undefined) await files.keepBytes(chat, id, bytes, seconds);
      else await keepBlob(blobs, chat, id, bytes, seconds);
      return id;
    },
    /**
     * Loads stored files of a chat, and restarts their retention time. Omits expired and invalid ids. Also omits files whose
     * bytes are damaged or missing, and logs these.
     */
    async load(chat: ChatKey, sha256s: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
      const ids = [...new Set(sha256s)].filter((id) => SHA256.test(id));
      const found = await Promise.all(ids.map((id) => ofChat(source, chat, (owner) => bytesOf(owner, id, ttlS))));
      return new Map(ids.flatMap((id, at) => (found[at] ? [[id, found[at]]] : [])));
    },
    /** Reads a stored file of a chat without restarting its retention time; undefined if the file is missing or damaged. */
    read: (chat: ChatKey, sha256: string) => ofChat(source, chat, (owner) => bytesOf(owner, sha256)),
    /** Erases all files of a chat, also those from before it became a supergroup: first their references, then their bytes. */
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

/** The id of stored bytes: their SHA-256, in hex. */
export function mediaId(bytes: Buffer): string {
  return blobId(bytes);
}

/** Searches a chat and, if that finds nothing, the group that the chat was before it became a supergroup. */
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

/** Reads a blob of a chat. Logs damaged or missing bytes, and returns undefined for them. */
async function readBlob({ blobs, log }: MediaSource, chat: ChatKey, blob: string): Promise<Buffer | undefined> {
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
