import cluster, { type Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import { createLogger, type Logger } from '../base/log.ts';
import { type Role, readOwnSettings, type Settings } from '../base/settings.ts';
import { superviseMetrics } from './metrics-exchange.ts';

/** The exit code of a process that refuses its configuration. A restarted process would refuse the configuration, too. */
const REFUSED = 2;
const RESTART_MS = 1_000;
const RESTART_MS_MAX = 30_000;
/** A process that lived this long did not fail at its start. */
const STEADY_MS = 60_000;

/**
 * Runs a role in this process, or in `WORKERS` processes that share the ports. The supervisor restarts a process that ends,
 * after a pause that grows while starts fail. The supervisor stops all processes if one refuses its configuration, and forwards
 * SIGTERM and SIGINT to all of them.
 */
export async function runSupervised(role: Role, run: () => Promise<void>): Promise<void> {
  const reading = readOwnSettings(role);
  // If the settings are wrong, `run` reports their problems.
  if (!cluster.isPrimary || !reading.ok || reading.settings.WORKERS === 1) return run();
  supervise(reading.settings, createLogger(reading.settings.LOG_LEVEL));
}

function supervise({ WORKERS: count }: Settings, log: Logger): void {
  let exitCode = 0;
  let isStopping = false;
  /** The running processes by their numbers. */
  const live = new Map<string, Worker>();
  const exitOnceEmpty = (): void => {
    if (live.size === 0) process.exit(exitCode);
  };
  const stop = (signal: NodeJS.Signals): void => {
    isStopping = true;
    for (const worker of live.values()) worker.process.kill(signal);
    exitOnceEmpty();
  };
  const start = (place: string, failures: number): void => {
    const startedMs = performance.now();
    const worker = cluster.fork();
    live.set(place, worker);
    worker.once('exit', async (code: number, signal: string | null) => {
      live.delete(place);
      if (code === REFUSED && !isStopping) {
        exitCode = REFUSED;
        stop('SIGTERM');
      }
      if (isStopping) return exitOnceEmpty();
      const nextFailures = performance.now() - startedMs < STEADY_MS ? failures + 1 : 1;
      const waitMs = Math.min(RESTART_MS * 2 ** (nextFailures - 1), RESTART_MS_MAX);
      log.error({ code, signal, waitMs }, 'a process ended; it is started again');
      await pause(waitMs);
      if (!isStopping) start(place, nextFailures);
    });
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
  superviseMetrics(() => live);
  log.info({ processes: count }, 'supervising');
  for (let started = 0; started < count; started++) start(String(started), 0);
}
