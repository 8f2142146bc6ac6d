import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** A program of the stack that runs. */
export interface Daemon {
  readonly name: string;
  freeze(): void;
  thaw(): void;
  /** Ends it by its own means, and by force when it does not end in time. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** Kills it without waiting, for the end of this process. */
  abandon(): void;
}

/** How one is started. */
export interface Start {
  name: string;
  file: string;
  args: readonly string[];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Answers with 2xx once it runs. */
  readyUrl: string;
  logFile: string;
}

const STARTING_MS = 90_000;
const STOPPING_MS = 10_000;
const LOOK_MS = 100;

/** Starts one and waits until it is ready. Rejects, and leaves nothing, when it is not. */
export async function startDaemon({ name, file, args, cwd, env = {}, readyUrl, logFile }: Start): Promise<Daemon> {
  const child = spawn(file, [...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = createWriteStream(logFile, { flags: 'a' });
  for (const output of [child.stdout, child.stderr]) output.pipe(log, { end: false });
  const daemon = daemonOf(name, child);
  try {
    await untilReady(name, child, readyUrl);
  } catch (error) {
    daemon.abandon();
    throw error;
  }
  return daemon;
}

function daemonOf(name: string, child: ChildProcess): Daemon {
  const ended = once(child, 'exit');
  // One that does not start is told by `untilReady`.
  ended.catch(() => {});
  return {
    name,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async stop() {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOPPING_MS);
      await ended;
      clearTimeout(timer);
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    abandon: () => void child.kill('SIGKILL'),
  };
}

async function untilReady(name: string, child: ChildProcess, url: string): Promise<void> {
  let problem = '';
  child.once('error', (error) => {
    problem = error.message;
  });
  for (const deadline = performance.now() + STARTING_MS; performance.now() < deadline; await pause(LOOK_MS)) {
    if (problem !== '') throw new Error(`${name} does not start: ${problem}`);
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}; its log is kept beside it.`);
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return;
  }
  throw new Error(`${name} is not ready after ${STARTING_MS / 1_000} seconds; its log is kept beside it.`);
}
