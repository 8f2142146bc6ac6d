import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts a process' time in ticks of this length, whatever the kernel's own are. */
const TICK_MS = 10;

/** The processor time that a process has used so far, in ms. Linux only. */
export function cpuMsOf(pid: number): number {
  const [userTicks, systemTicks] = fieldsOf(pid).slice(11, 13).map(Number);
  return ((userTicks ?? 0) + (systemTicks ?? 0)) * TICK_MS;
}

/**
 * The memory of a process and all below it, in MB: what is shared with other processes counts by its share (Pss). Linux
 * only.
 */
export function treeMegabytes(pid: number): number {
  return treeOf(pid).reduce((sum, one) => sum + pssKilobytes(one) / 1_000, 0);
}

/** The ids of a process and of all below it. */
export function treeOf(pid: number): number[] {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), parentOf(Number(name))]),
  );
  const tree = [pid];
  for (const one of tree) for (const [child, parent] of parents) if (parent === one) tree.push(child);
  return tree;
}

function pssKilobytes(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? Number.NaN);
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(fieldsOf(pid)[1]);
  } catch {
    return undefined; // It ended while the list was read.
  }
}

/** What `/proc/<pid>/stat` says after the name of the program, which may contain anything. */
function fieldsOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
