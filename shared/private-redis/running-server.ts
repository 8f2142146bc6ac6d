import { readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from '../base/machine.ts';
import { withFolderLock } from './folder-lock.ts';
import { serverAt, urlOf } from './process.ts';

/** The state file of a folder about its server; `pid` is unknown while it is being spawned. */
type State = { pid: number | null };

const HOLDER_WAIT_MS = 30_000;
const holderPollMs = 100;
const lockWaitMs = 360_000;
// How long a server may take until it listens, when the process that spawned it died.
const settleMs = 3_000;

/** Runs work while no other process starts or ends the server of a folder. */
export function withServerLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  return withFolderLock(join(dir, 'start.lock'), lockWaitMs, work);
}

/** The process id of the server that runs for `dir`. Throws when one holds `dir` but does not answer. */
export async function findRunning(dir: string, waitMs = HOLDER_WAIT_MS): Promise<number | undefined> {
  const giveUpAt = Date.now() + waitMs;
  for (;;) {
    const found = await serverAt(urlOf(dir));
    if (found !== undefined) return found;
    const state = await readState(dir);
    if (state === undefined || !(await mayStillRun(state, dir))) return undefined;
    if (Date.now() > giveUpAt) {
      throw new Error(
        `A Redis server (process ${state.pid}) holds ${dir} but does not answer: end it, and start again.`,
      );
    }
    await pause(holderPollMs);
  }
}

async function mayStillRun(state: State, dir: string): Promise<boolean> {
  if (state.pid === null) {
    // The starter died between spawning the server and noting its pid; the server may be about to listen.
    const age = await stat(stateFileOf(dir)).then((found) => Date.now() - found.mtimeMs);
    return age < settleMs;
  }
  if (!isRunning(state.pid)) return false;
  // Pids are reused sooner or later: where the system tells, it must be a server, and work in this folder.
  const line = await readFile(`/proc/${state.pid}/cmdline`, 'utf8').catch(() => undefined);
  const folder = await readlink(`/proc/${state.pid}/cwd`).catch(() => undefined);
  return (line === undefined || /redis|valkey/.test(line)) && (folder === undefined || folder === dir);
}

/**
 * Notes the server of a folder. Renamed into place, so that a reader sees the old state or the new one, never half of
 * one.
 */
export async function writeState(dir: string, state: State): Promise<void> {
  const fresh = join(dir, `redis.json.${process.pid}`);
  await writeFile(fresh, JSON.stringify(state));
  await rename(fresh, stateFileOf(dir));
}

/** The known state of the server of a folder; `undefined` when nothing is known. */
async function readState(dir: string): Promise<State | undefined> {
  try {
    const state = JSON.parse(await readFile(stateFileOf(dir), 'utf8')) as State;
    return Number.isInteger(state.pid) || state.pid === null ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Forgets the server of a folder, since it has ended. */
export async function removeState(dir: string): Promise<void> {
  await rm(stateFileOf(dir), { force: true });
}

function stateFileOf(dir: string): string {
  return join(dir, 'redis.json');
}
