import { readFileSync } from 'node:fs';

/**
 * Whether a process with this id runs on this machine, under any owner. A process that has ended does not count, even
 * if its parent has not collected its exit code: in a container without an init it stays so for ever.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before the state is in parentheses and may hold any character.
    return status.charAt(status.lastIndexOf(')') + 2) !== 'Z';
  } catch {
    // No such file: not Linux, or a process that ended just now, which the next check will see.
    return true;
  }
}
