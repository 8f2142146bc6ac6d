import { readFileSync } from 'node:fs';

/**
 * Whether a process with this id runs on this machine, under any owner. A zombie, whose parent has not collected its exit
 * code, does not run. In a container without an init, zombies stay for ever.
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
    // There is no such file outside of Linux. If the process has just ended, the next check will notice.
    return true;
  }
}
