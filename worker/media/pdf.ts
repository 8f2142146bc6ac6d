import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FileProblem } from '../../shared/texts/texts.ts';

/** What the thread is asked: the text of no page, or of as many as have so many characters together. */
export interface PdfTask {
  bytes: Uint8Array;
  charsMax: number;
}

/** How many pages a PDF has, with the texts of the first of them, or why that is unknown. */
export type PdfReading =
  | { ok: true; pages: number; texts: readonly string[] }
  | { ok: false; why: Extract<FileProblem, 'broken_pdf' | 'locked_pdf' | 'too_slow'> };

const TIMEOUT_MS = 10_000;
const MEMORY_MB = 256;

/**
 * Counts the pages of a PDF, including those in compressed streams, and reads the text of the first pages, in whole pages
 * of at most `charsMax` characters together. A hostile file can keep the parser busy for seconds without a pause, so it
 * runs in a thread, which is ended when its time or its memory is used up.
 *
 * Contract: never rejects.
 */
export async function readPdfPages(bytes: Buffer, charsMax = 0, timeoutMs = TIMEOUT_MS): Promise<PdfReading> {
  // A small buffer is a slice of a shared one, which must not be transferred with it.
  const own = new Uint8Array(bytes);
  const task: PdfTask = { bytes: own, charsMax };
  const thread = new Worker(join(import.meta.dirname, 'pdf-thread.ts'), {
    workerData: task,
    transferList: [own.buffer],
    env: {},
    execArgv: [],
    // Its output must not reach our log.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
  // An error after the answer has no other listener, and would end the process.
  thread.on('error', () => {});
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const [reading] = (await once(thread, 'message', { signal: deadline })) as [PdfReading];
    return reading;
  } catch {
    return { ok: false, why: deadline.aborted ? 'too_slow' : 'broken_pdf' };
  } finally {
    await thread.terminate();
  }
}
