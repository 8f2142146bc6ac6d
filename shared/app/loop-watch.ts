import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Service } from '../base/lifecycle.ts';
import type { Logger } from '../base/log.ts';
import type { RedisAddress } from '../base/redis-address.ts';

/** Longer than any pause of a sound process on a busy machine; far shorter than anybody waits in silence. */
export const FROZEN_MS = 30_000;
const TICK_MS_MAX = 1_000;
/** The time that telling of it may take, before the process is ended whatever was told. */
const END_MS = 10_000;

/** A process that stands still, as those are told that outlive it. */
export interface Frozen {
  /** As it is named in Redis. */
  processName: string;
  redisAddress: RedisAddress;
  frozenMs: number;
}

/** The data that the thread is given. */
interface Watched extends Frozen {
  /** One number, which the loop changes with each turn that it has. */
  beats: Int32Array;
  tickMs: number;
  endMs: number;
  /** The module that tells of the end and ends the process. */
  program: string;
}

/**
 * Watches the event loop of this process from a thread of its own: a loop that stands still answers nobody, and hears no
 * signal. After `frozenMs` the thread logs where it stands, notes that in Redis, and ends the process, so that whoever
 * supervises it starts it again.
 *
 * The time that counts is the thread's own: it stands still with a stopped process or a suspended machine.
 */
export function watchEventLoop(frozen: Frozen, log: Logger): Service {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const tickMs = Math.min(TICK_MS_MAX, Math.ceil(frozen.frozenMs / 5));
  const program = join(import.meta.dirname, 'frozen.ts');
  const workerData: Watched = { ...frozen, beats, tickMs, endMs: END_MS, program };
  const thread = new Worker(`(${watchBeats})()`, { eval: true, workerData, env: {}, execArgv: [] });
  thread.on('error', (err) => log.error({ err }, 'the event loop is not watched any more'));
  thread.unref();
  const beating = setInterval(() => Atomics.add(beats, 0, 1), tickMs);
  beating.unref();
  return {
    name: 'loop watch',
    async stop() {
      await thread.terminate();
      clearInterval(beating);
    },
  };
}

/** Runs in the thread, which gets it as a text: it knows nothing of this file. */
function watchBeats(): void {
  const { beats, tickMs, endMs, program, ...frozen } = process.getBuiltinModule('node:worker_threads')
    .workerData as Watched;
  let last = -1;
  let stoodMs = 0;
  const timer = setInterval(() => {
    const now = Atomics.load(beats, 0);
    stoodMs = now === last ? stoodMs + tickMs : 0;
    last = now;
    if (stoodMs < frozen.frozenMs) return;
    clearInterval(timer);
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), endMs);
    import(program).then(({ endFrozen }) => endFrozen(frozen)).catch(() => process.kill(process.pid, 'SIGKILL'));
  }, tickMs);
}
