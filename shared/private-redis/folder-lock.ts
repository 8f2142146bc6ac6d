import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 25;
const SQLITE_BUSY = 5;

/**
 * Runs `work` while this process alone holds `file`, and releases the file whatever happens. Holds between processes and
 * between callers in one process: the lock is SQLite's exclusive one, which the system takes back from a process that has
 * died. The file stays, and is empty. Throws when the lock is still held after `waitMs`; the message names the file.
 */
export async function withFolderLock<T>(file: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    for (const deadlineMs = Date.now() + waitMs; !isTaken(lock); await pause(POLL_MS))
      if (Date.now() > deadlineMs) throw new Error(`${file} is held by another process.`);
    return await work();
  } finally {
    lock.close();
  }
}

function isTaken(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
