import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** A name for this process that no other one ever has. */
export function nameProcess(): string {
  return `${hostname()} ${process.pid} ${randomUUID()}`;
}

/** Reads a name: the host and the process id there. */
export function hostAndPid(name: string): { host: string; pid: number } {
  const [host = '', pid = ''] = name.split(' ');
  return { host, pid: Number(pid) };
}

/** The field of `keys.running` with the place where a process stood still. */
export function frozenField(name: string): string {
  return `frozen ${name}`;
}
