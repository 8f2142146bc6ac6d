import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';

/** Most records in a segment. */
export const SEGMENT_RECORDS_MAX = 500;

/** Most bytes of a segment before compression; a larger record is its own segment. */
export const SEGMENT_BYTES_MAX = 1024 * 1024;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** The checksum detects a flipped bit when the segment is read, instead of returning wrong data. */
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const LINE_BREAK = 0x0a;
const SPACE = 0x20;

/** Packs lines of a log as compressed JSONL, byte for byte. Runs off the event loop. */
export async function packSegment(lines: readonly Buffer[]): Promise<Buffer> {
  const jsonl = lines.flatMap((line, index) => (index === 0 ? [onOneLine(line)] : [BREAK, onOneLine(line)]));
  return compress(Buffer.concat(jsonl), CHECKED);
}

/** The lines of a segment, as they were packed. Rejects when its checksum does not match. */
export async function unpackSegment(packed: Buffer): Promise<Buffer[]> {
  const jsonl = await decompress(packed);
  const lines: Buffer[] = [];
  for (let start = 0; start <= jsonl.length; ) {
    const found = jsonl.indexOf(LINE_BREAK, start);
    const end = found === -1 ? jsonl.length : found;
    lines.push(jsonl.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

const BREAK = Buffer.of(LINE_BREAK);

/** JSON has no raw line break inside a string: replacing one by a space changes no record. */
function onOneLine(line: Buffer): Buffer {
  return line.includes(LINE_BREAK) ? Buffer.from(line.map((byte) => (byte === LINE_BREAK ? SPACE : byte))) : line;
}
