import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Service } from '../base/lifecycle.ts';
import type { Logger } from '../base/log.ts';
import type { RedisAddress } from '../base/redis-address.ts';

/** A process whose event loop stands still for this long is frozen. A healthy process pauses less, even on a busy machine. */
export const FROZEN_MS = 30_000;
const TICK_MS_MAX = 1_000;
/** How long the thread may take to log and store a freeze. After this time, the thread kills the process in any case. */
const END_MS = 10_000;

/** A process, and how long its event loop may stand still before the process counts as frozen. */
export interface FrozenProcess {
  /** The name of the process in Redis. */
  processName: string;
  redisAddress: RedisAddress;
  frozenMs: number;
}

interface ThreadData extends FrozenProcess {
  /** A single counter, which the event loop increments every `tickMs`. */
  beats: Int32Array;
  tickMs: number;
  endMs: number;
  /** The module that reports the freeze and ends the process. */
  program: string;
}

/**
 * Watches the event loop of this process from a thread of its own, because a frozen loop handles no request and no signal.
 * After a standstill of `frozenMs` the thread logs the place in the code, stores that place in Redis, and ends the process, so
 * that a supervisor restarts the process. The thread measures time by its own ticks, because these also stop while the process
 * is stopped or the machine is suspended.
 */
export function watchEventLoop(frozen: FrozenProcess, log: Logger): Service {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const tickMs = Math.min(TICK_MS_MAX, Math.ceil(frozen.frozenMs / 5));
  const program = join(import.meta.dirname, 'frozen.ts');
  const workerData: ThreadData = { ...frozen, beats, tickMs, endMs: END_MS, program };
  const thread = new Worker(`(${watchBeats})()`, { eval: true, workerData, env: {}, execArgv: [] });
  thread.on('error', (err) => log.error({ err }, 'the event loop is not watched any more'));
  thread.unref();
  const heartbeat = setInterval(() => Atomics.add(beats, 0, 1), tickMs);
  heartbeat.unref();
  return {
    name: 'loop watch',
    async stop() {
      await thread.terminate();
      clearInterval(heartbeat);
    },
  };
}

/** Runs in the thread, which gets this function as source text. So the function must not use anything else of this file. */
function watchBeats(): void {
  const { beats, tickMs, endMs, program, ...frozen } = process.getBuiltinModule('node:worker_threads')
    .workerData as ThreadData;
  let last = -1;
  let standstillMs = 0;
  const timer = setInterval(() => {
    const now = Atomics.load(beats, 0);
    standstillMs = now === last ? standstillMs + tickMs : 0;
    last = now;
    if (standstillMs < frozen.frozenMs) return;
    clearInterval(timer);
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), endMs);
    import(program).then(({ endFrozen }) => endFrozen(frozen)).catch(() => process.kill(process.pid, 'SIGKILL'));
  }, tickMs);
}
