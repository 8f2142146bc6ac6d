/** What an archive's list holds of a segment whose bytes are a blob. */
export interface SegmentPointer {
  sha256: string;
  records: number;
  bytes: number;
}

const BRACE = 0x7b;
const POINTER = /^\{"sha256":"([0-9a-f]{64})","records":(\d+),"bytes":(\d+)\}$/;

/**
 * A pointer as an archive's list holds it. Its first character tells it from a segment's bytes.
 */
export function encodePointer({ sha256, records, bytes }: SegmentPointer): string {
  return JSON.stringify({ sha256, records, bytes });
}

/** Reads an item of an archive's list: `undefined` when it is a segment's bytes, or no pointer that we wrote. */
export function decodePointer(item: Buffer): SegmentPointer | undefined {
  if (item[0] !== BRACE) return undefined;
  const [, sha256, records, bytes] = POINTER.exec(item.toString()) ?? [];
  return sha256 === undefined ? undefined : { sha256, records: Number(records), bytes: Number(bytes) };
}
