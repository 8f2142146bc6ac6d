/** Runs as its own thread, started by `countPages`: reads the PDF that it was given and reports the number of pages. */
import { parentPort, workerData } from 'node:worker_threads';
import { getDocumentProxy } from 'unpdf';
import type { CountedPages } from './pdf.ts';

const ERRORS_ONLY = 0;

async function readPages(bytes: Uint8Array): Promise<CountedPages> {
  try {
    // The document's memory is freed when the thread ends.
    const { numPages: pages } = await getDocumentProxy(bytes, { verbosity: ERRORS_ONLY });
    return { ok: true, pages };
  } catch (error) {
    return { ok: false, why: (error as Error).name === 'PasswordException' ? 'locked_pdf' : 'broken_pdf' };
  }
}

parentPort?.postMessage(await readPages(workerData as Uint8Array));
