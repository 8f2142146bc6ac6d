/**
 * The decoder, a program that runs in a process of its own: reads a file from its standard input, and writes an answer for
 * `decoding.ts` to its standard output. A hostile file can harm only this process, which decodes no other file.
 */
import { buffer } from 'node:stream/consumers';
import type * as unpdf from 'unpdf';
import type { FileProblem } from '../../shared/texts/language.ts';
import type { DecoderAnswer, DecoderTask } from './decoding.ts';

/** The first output. If the decoder ends before this output, the file is not the cause. */
const READY = '\n';

/** The number of pages of a PDF and the texts of its first pages, or why the PDF cannot be read. */
export type PdfReading =
  | { ok: true; pages: number; texts: readonly string[] }
  | { ok: false; why: Extract<FileProblem, 'broken_pdf' | 'locked_pdf'> };

const ERRORS_ONLY = 0;

type Pdf = Awaited<ReturnType<typeof unpdf.getDocumentProxy>>;

/**
 * Counts the pages of a PDF, including those in compressed streams, and reads the texts of the first pages: as many whole pages
 * as fit into `charsMax` characters. A hostile file can use up all memory, and keep the parser busy forever.
 *
 * Contract: never rejects.
 */
async function readPdf(
  getDocumentProxy: typeof unpdf.getDocumentProxy,
  bytes: Buffer,
  charsMax: number,
): Promise<PdfReading> {
  try {
    const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: ERRORS_ONLY });
    return { ok: true, pages: pdf.numPages, texts: await textsOf(pdf, charsMax) };
  } catch (error) {
    return { ok: false, why: (error as Error).name === 'PasswordException' ? 'locked_pdf' : 'broken_pdf' };
  }
}

/** The texts of the first pages: as many whole pages as fit into `charsMax` characters. */
async function textsOf(pdf: Pdf, charsMax: number): Promise<string[]> {
  const texts: string[] = [];
  let chars = 0;
  for (let number = 1; number <= pdf.numPages && charsMax > 0; number++) {
    const { items } = await (await pdf.getPage(number)).getTextContent();
    const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
    chars += text.length;
    if (chars > charsMax) break;
    texts.push(text.trim());
  }
  return texts;
}

async function readerOf(task: DecoderTask): Promise<(bytes: Buffer) => Promise<DecoderAnswer>> {
  if (task.kind === 'pdf') {
    const { getDocumentProxy } = await import('unpdf');
    return (bytes) => readPdf(getDocumentProxy, bytes, task.charsMax);
  }
  const { fitPicture } = await import('./picture.ts');
  return (bytes) => fitPicture(bytes);
}

/** Writes the answer as a line of JSON, followed by the bytes of the picture, if any. */
function writeAnswer(answer: DecoderAnswer | { unable: string }): void {
  const { bytes, ...head } = { bytes: Buffer.alloc(0), ...answer };
  process.stdout.write(`${JSON.stringify({ ...head, size: bytes.length })}\n`);
  process.stdout.write(bytes);
}

const task = JSON.parse(process.argv[2] ?? '') as DecoderTask;
const read = await readerOf(task).catch((error) => async () => ({ unable: String(error).replace(/\n.*/s, '') }));
process.stdout.write(READY);
writeAnswer(await read(await buffer(process.stdin)));
