/** Runs as its own thread, started by `pdf.ts`: reads the PDF that it was given and reports its pages, and their text. */
import { parentPort, workerData } from 'node:worker_threads';
import { getDocumentProxy } from 'unpdf';
import type { PdfReading, PdfTask } from './pdf.ts';

const ERRORS_ONLY = 0;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

async function read({ bytes, charsMax }: PdfTask): Promise<PdfReading> {
  try {
    // The document's memory is freed when the thread ends.
    const pdf = await getDocumentProxy(bytes, { verbosity: ERRORS_ONLY });
    return { ok: true, pages: pdf.numPages, texts: await textsOf(pdf, charsMax) };
  } catch (error) {
    return { ok: false, why: (error as Error).name === 'PasswordException' ? 'locked_pdf' : 'broken_pdf' };
  }
}

/** The texts of the first pages, as many whole pages as fit. */
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

parentPort?.postMessage(await read(workerData as PdfTask));
