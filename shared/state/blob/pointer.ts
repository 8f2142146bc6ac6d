import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';

/** The item that stands for a segment in an archive's list when its bytes are a blob. */
export interface SegmentPointer {
  /** The name of the blob. */
  blob: string;
  records: number;
  bytes: number;
}

const BRACE = 0x7b;
const POINTER = /^\{"blob":"([0-9a-f-]{1,100})","records":(\d+),"bytes":(\d+)\}$/;

/**
 * A pointer as an archive's list holds it. Its first character tells it from a segment's bytes.
 */
export function encodePointer({ blob, records, bytes }: SegmentPointer): string {
  return JSON.stringify({ blob, records, bytes });
}

/** Reads an item of an archive's list: `undefined` when it is a segment's bytes, or no pointer that we wrote. */
export function decodePointer(item: Buffer): SegmentPointer | undefined {
  if (item[0] !== BRACE) return undefined;
  const [, blob, records, bytes] = POINTER.exec(item.toString()) ?? [];
  return blob === undefined ? undefined : { blob, records: Number(records), bytes: Number(bytes) };
}

/** The names of the blobs that the archive of a session points at. Rejects when Redis cannot be reached. */
export async function archiveBlobs(redis: RedisClient, keys: Keys, session: SessionId): Promise<ReadonlySet<string>> {
  const items = await redis.lrangeBuffer(keys.archive(session), 0, -1);
  return new Set(items.flatMap((item) => decodePointer(item)?.blob ?? []));
}
