import cluster, { type Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import { type Config, type Role, readProcessConfig } from '../base/config.ts';
import { createLogger, type Logger } from '../base/log.ts';

/** What a process that refuses its configuration exits with: another start would refuse it, too. */
const REFUSED = 2;
const RESTART_MS = 1_000;
const RESTART_MS_MAX = 30_000;
/** A process that lived this long did not fail at its start. */
const STEADY_MS = 60_000;

/**
 * Runs a role in this process, or in as many as `WORKERS` says, which share the ports. Those are supervised: one that
 * crashes is started again, after a pause that grows while it fails at its start; one that refuses its configuration
 * ends all. SIGTERM and SIGINT end all, each as if it ran alone.
 */
export async function runSupervised(role: Role, run: () => Promise<void>): Promise<void> {
  const reading = readProcessConfig(role);
  // A process alone says itself what is wrong with its configuration.
  if (!cluster.isPrimary || !reading.ok || reading.config.WORKERS === 1) return run();
  supervise(reading.config, createLogger(reading.config.LOG_LEVEL));
}

function supervise({ WORKERS: count }: Config, log: Logger): void {
  let exitCode = 0;
  let isStopping = false;
  const live = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const stop = (signal: NodeJS.Signals): void => {
    isStopping = true;
    for (const worker of live()) worker.process.kill(signal);
  };
  const start = (failures: number): void => {
    const startedMs = performance.now();
    cluster.fork().once('exit', async (code: number, signal: string | null) => {
      if (code === REFUSED && !isStopping) {
        exitCode = REFUSED;
        stop('SIGTERM');
      }
      if (isStopping) return;
      const failed = performance.now() - startedMs < STEADY_MS ? failures + 1 : 1;
      const waitMs = Math.min(RESTART_MS * 2 ** (failed - 1), RESTART_MS_MAX);
      log.error({ code, signal, waitMs }, 'a process ended; it is started again');
      await pause(waitMs);
      if (!isStopping) start(failed);
    });
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
  cluster.on('exit', (worker: Worker) => {
    const others = live().filter(({ id }) => id !== worker.id);
    if (isStopping && others.length === 0) process.exit(exitCode);
  });
  log.info({ processes: count }, 'supervising');
  for (let started = 0; started < count; started++) start(0);
}
