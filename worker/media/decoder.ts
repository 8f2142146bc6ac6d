/**
 * The decoder, a program of its own: reads the file that comes on its standard input, and answers on its standard output
 * (`decoding.ts`). Whatever the file does to it, it does to this process alone, which serves no other one.
 */
import { buffer } from 'node:stream/consumers';
import type { DecoderAnswer, DecoderTask } from './decoding.ts';

/** Said first, so that an end before it is nobody's file's fault. */
const READY = '\n';

async function readerOf(task: DecoderTask): Promise<(bytes: Buffer) => Promise<DecoderAnswer>> {
  if (task.kind === 'pdf') {
    const { readPdf } = await import('./pdf.ts');
    return (bytes) => readPdf(bytes, task.charsMax);
  }
  const { fitPicture } = await import('./picture.ts');
  return (bytes) => fitPicture(bytes);
}

/** A line of JSON, and behind it the bytes of a picture. */
function answer(said: DecoderAnswer | { unable: string }): void {
  const { bytes, ...head } = { bytes: Buffer.alloc(0), ...said };
  process.stdout.write(`${JSON.stringify({ ...head, size: bytes.length })}\n`);
  process.stdout.write(bytes);
}

const task = JSON.parse(process.argv[2] ?? '') as DecoderTask;
const read = await readerOf(task).catch((error) => async () => ({ unable: String(error).replace(/\n.*/s, '') }));
process.stdout.write(READY);
answer(await read(await buffer(process.stdin)));
