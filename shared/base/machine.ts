import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A process, in a form that others can look up. */
export interface ProcessMark {
  /** For people. */
  readonly host: string;
  readonly pid: number;
  /**
   * Equal for processes that see each other's ids: the machine's name, its current boot, and the namespace of process
   * ids.
   * Absent where the system does not report these.
   */
  readonly machine?: string;
  /** When it started, in the system's own count: ids are reused sooner or later. */
  readonly startedAt?: string;
}

/** This process. */
export function ownMark(): ProcessMark {
  const machine = machineOf();
  const startedAt = startOf(process.pid);
  return {
    host: hostname(),
    pid: process.pid,
    ...(machine !== undefined && { machine }),
    ...(startedAt !== undefined && { startedAt }),
  };
}

/** Whether a process has certainly ended. False also when that cannot be known here: it is on another machine. */
export function hasEnded({ machine, pid, startedAt }: ProcessMark): boolean {
  if (machine === undefined || startedAt === undefined || machine !== machineOf()) return false;
  if (!isRunning(pid)) return true;
  const found = startOf(pid);
  return found !== undefined && found !== startedAt;
}

/** A namespace's number is not reused while we are in it. */
function machineOf(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

/** The fields after the name, which is in parentheses and may hold any character: the 20th is the start time. */
function startOf(pid: number): string | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

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
