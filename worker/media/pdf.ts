import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FileProblem } from '../../shared/texts/texts.ts';

/** How many pages a PDF has, or why that is unknown. */
export type CountedPages =
  | { ok: true; pages: number }
  | { ok: false; why: Extract<FileProblem, 'broken_pdf' | 'locked_pdf' | 'too_slow'> };

const TIMEOUT_MS = 10_000;
const MEMORY_MB = 256;

/**
 * Counts the pages of a PDF, including those in compressed streams. A hostile file can keep the parser busy for seconds
 * without a pause, so it runs in a thread, which is ended when its time or its memory is used up.
 *
 * Contract: never rejects.
 */
export async function countPages(bytes: Buffer, timeoutMs = TIMEOUT_MS): Promise<CountedPages> {
  // A small buffer is a slice of a shared one, which must not be transferred with it.
  const own = new Uint8Array(bytes);
  const thread = new Worker(join(import.meta.dirname, 'pdf-thread.ts'), {
    workerData: own,
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
    const [counted] = (await once(thread, 'message', { signal: deadline })) as [CountedPages];
    return counted;
  } catch {
    return { ok: false, why: deadline.aborted ? 'too_slow' : 'broken_pdf' };
  } finally {
    await thread.terminate();
  }
}
