import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 25;
const SQLITE_BUSY = 5;

/**
 * Runs `work` under an exclusive lock on `file`, and always releases the lock. The lock excludes other processes and other
 * callers in this process. SQLite provides the lock, which the system releases when the process dies. The file remains,
 * empty. Rejects when another caller still has the lock after `waitMs`; the message names the file.
 */
export async function withFolderLock<T>(file: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    for (const deadlineMs = Date.now() + waitMs; !tryLock(lock); await pause(POLL_MS))
      if (Date.now() > deadlineMs) throw new Error(`${file} is held by another process.`);
    return await work();
  } finally {
    lock.close();
  }
}

function tryLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
