import { readFileSync } from 'node:fs';

/**
 * Whether a process with this id runs on this machine, under any owner. On Linux, a zombie does not count: such a process has
 * ended, but its parent has not collected the exit code. In a container without an init process, zombies stay for ever.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state follows the program's name, which is in parentheses and may itself contain any character.
    return status.charAt(status.lastIndexOf(')') + 2) !== 'Z';
  } catch {
    // Outside Linux there is no such file. On Linux the process has probably just ended, and the next call will notice that.
    return true;
  }
}
