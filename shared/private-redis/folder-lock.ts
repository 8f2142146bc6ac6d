import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, readFile, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from '../base/machine.ts';

const heartbeatMs = 2_000;
const abandonedAfterMs = 15_000;
const pollMs = 25;

/**
 * Runs `work` while this process alone holds `file`, and releases the file whatever happens. Holds between processes
 * and between callers in one process. A holder that died is noticed at once on the same host, after 15 s elsewhere.
 * Throws when the lock is still held after `waitMs`; the message names the file.
 */
export async function withFolderLock<T>(file: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const token = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  await take(file, token, Date.now() + waitMs);
  const heartbeat = setInterval(() => {
    const now = new Date();
    // A heartbeat that fails means that the folder is gone; the work itself will report it.
    utimes(file, now, now).catch(() => undefined);
  }, heartbeatMs);
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if (heldBy(file) === token) await unlink(file).catch(() => undefined);
  }
}

async function take(file: string, token: string, deadlineAt: number): Promise<void> {
  for (;;) {
    try {
      // The flag makes creation atomic: of two processes, one gets EEXIST.
      await writeFile(file, token, { flag: 'wx' });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    await breakIfAbandoned(file);
    if (Date.now() > deadlineAt) throw new Error(`${file} is held by another process: ${heldBy(file) ?? 'unknown'}.`);
    await pause(pollMs);
  }
}

/**
 * Removes the lock of a dead holder. The hard link lets exactly one process do it: a second process that judged the
 * same holder dead finds the link, and one so late that a new holder has the lock sees that in the content.
 */
async function breakIfAbandoned(file: string): Promise<void> {
  const token = heldBy(file);
  if (token === undefined || !(await isAbandoned(file, token))) return;
  const grave = `${file}.${graveName(token)}`;
  try {
    await link(file, grave);
  } catch {
    return;
  }
  const buried = await readFile(grave, 'utf8').catch(() => undefined);
  if (buried === token) await unlink(file).catch(() => undefined);
  await unlink(grave).catch(() => undefined);
}

async function isAbandoned(file: string, token: string): Promise<boolean> {
  const age = await stat(file).then(
    (found) => Date.now() - found.mtimeMs,
    () => 0,
  );
  if (age > abandonedAfterMs) return true;
  try {
    const holder = JSON.parse(token) as { pid: number; host: string };
    // A pid means nothing on another host, or in another container.
    return holder.host === hostname() && !isRunning(holder.pid);
  } catch {
    // An empty file belongs to a process between creating and writing it, or to one that died there: age decides.
    return false;
  }
}

function graveName(token: string): string {
  const id = /"id":"([0-9a-f-]+)"/.exec(token)?.[1];
  return id ?? 'unreadable';
}

function heldBy(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
