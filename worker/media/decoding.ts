import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAtMost } from '../../shared/base/bounded-read.ts';
import type { FileProblem } from '../../shared/texts/language.ts';
import type { PdfReading } from './decoder.ts';
import type { FittedPicture } from './picture.ts';

/** The task of a decoder: to fit a picture, or to count the pages of a PDF and read at most `charsMax` characters of them. */
export type DecoderTask = { kind: 'picture' } | { kind: 'pdf'; charsMax: number };

/** The answer from a decoder that could load its library: the result, or why the file is unreadable. */
export type DecoderAnswer = FittedPicture | PdfReading;

/** The result for a decoder that ended without an answer: `too_slow` if it ran out of time, otherwise `too_costly`. */
type Overtaxed = { ok: false; why: Extract<FileProblem, 'too_slow' | 'too_costly'> };

/** How a decoder ended: with an answer, or without one. */
type End = { answer: DecoderAnswer | { unable: string } } | Overtaxed;

const TIMEOUT_MS = 10_000;
/** The first try may fail for a reason other than the file. */
const TRIES_MAX = 2;
/** The memory that a decoder may allocate, native libraries included. Linux applies the limit to private writable memory. */
const MEMORY_MB = 320;
/** Larger than any answer: a fitted picture, or the text of a hundred pages. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Fits a picture for the model (upright, small, without metadata) in a process of its own.
 *
 * Contract: never rejects because of the bytes, and never uses more memory than one decoder may have. Tries once
 * more if the decoder ends without an answer, and returns `too_slow` or `too_costly` if that happens again. Rejects if no
 * decoder can be started, or if the decoder cannot load its library.
 */
export async function fitPicture(bytes: Buffer): Promise<FittedPicture | Overtaxed> {
  return (await decode({ kind: 'picture' }, bytes, TIMEOUT_MS)) as FittedPicture | Overtaxed;
}

/**
 * In a process of its own, counts the pages of a PDF, and reads the texts of the first pages: as many whole pages as fit into
 * `charsMax` characters. Contract: as `fitPicture`.
 */
export async function readPdfPages(
  bytes: Buffer,
  charsMax = 0,
  timeoutMs = TIMEOUT_MS,
): Promise<PdfReading | Overtaxed> {
  return (await decode({ kind: 'pdf', charsMax }, bytes, timeoutMs)) as PdfReading | Overtaxed;
}

/** Resolves when the previous decoder has ended. Only one decoder runs at a time, which bounds the memory of all decoders. */
let previousEnd: Promise<unknown> = Promise.resolve();

async function decode(task: DecoderTask, bytes: Buffer, timeoutMs: number): Promise<DecoderAnswer | Overtaxed> {
  for (let tries = 1; ; tries += 1) {
    const nextEnd = previousEnd.then(() => decodeOnce(task, bytes, timeoutMs));
    previousEnd = nextEnd.catch(() => {});
    const end = await nextEnd;
    if (!('answer' in end)) {
      if (tries === TRIES_MAX) return end;
    } else if ('unable' in end.answer) throw new Error(end.answer.unable);
    else return end.answer;
  }
}

async function decodeOnce(task: DecoderTask, bytes: Buffer, timeoutMs: number): Promise<End> {
  const child = startDecoder(task, timeoutMs);
  // The decoder may end before it has read the whole file. Ignore the error of the pipe.
  child.stdin?.on('error', () => {});
  child.stdin?.end(bytes);
  const [output] = await Promise.all([readAtMost(child.stdout, ANSWER_BYTES_MAX), once(child, 'close')]);
  const answer = output && answerIn(output);
  if (answer !== undefined) return { answer };
  if (output?.length === 0 && !child.killed) throw new Error('the decoder of pictures and PDFs does not start');
  return { ok: false, why: child.killed ? 'too_slow' : 'too_costly' };
}

/**
 * The shell script that sets the limits of a decoder. If memory is short, the kernel ends a decoder before any other process.
 * If the gateway dies, the limit on processor time still ends the decoder.
 */
const SET_LIMITS = [
  'ulimit -d "$1"',
  'ulimit -t "$2"',
  'ulimit -c 0',
  'echo 1000 > /proc/self/oom_score_adj',
  'shift 2; exec "$@"',
].join('\n');

function startDecoder(task: DecoderTask, timeoutMs: number): ChildProcess {
  const limits = [Math.ceil(MEMORY_MB * 1024 + reservedBytes() / 1024), Math.ceil(timeoutMs / 500)];
  const node = [process.execPath, '--v8-pool-size=1', '--disable-warning=ExperimentalWarning'];
  const program = [join(import.meta.dirname, 'decoder.ts'), JSON.stringify(task)];
  return spawn('/bin/sh', ['-c', SET_LIMITS, 'decoder', ...limits.map(String), ...node, ...program], {
    cwd: '/',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    // Pass nothing of the gateway's environment, which contains secrets.
    env: { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '2' },
    // A hostile file must not be able to write to the log through an error message.
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

/** The largest range that V8 reserves for machine code. Two adjacent ranges may look like one larger range. */
const CODE_BYTES_MAX = 512 * 1024 * 1024;

let reserved: number | undefined;

/**
 * The size of the memory range that Node reserves for the machine code of a decoder. With some versions of Node, Linux counts
 * the whole range toward the limit, even the unused part. Each thread has one range, and a decoder has one thread. So the
 * largest range of the gateway shows the size of a decoder's range. 0 except on Linux.
 */
function reservedBytes(): number {
  reserved ??= process.platform === 'linux' ? writableCodeIn(readFileSync('/proc/self/maps', 'utf8')) : 0;
  return reserved;
}

function writableCodeIn(maps: string): number {
  const ranges = [...maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rwxp/gm)];
  const sizes = ranges.map(([, from = '', to = '']) => Number.parseInt(to, 16) - Number.parseInt(from, 16));
  return Math.min(CODE_BYTES_MAX, Math.max(0, ...sizes));
}

/** Parses the output of a decoder: an empty line, a line of JSON, and the bytes of a picture; undefined if incomplete. */
function answerIn(output: Buffer): DecoderAnswer | { unable: string } | undefined {
  const end = output.indexOf('\n', 1);
  if (end === -1) return undefined;
  const { size = 0, ...head } = JSON.parse(output.toString('utf8', 1, end));
  const bytes = output.subarray(end + 1);
  if (bytes.length !== size) return undefined;
  return size === 0 ? head : { ...head, bytes };
}
