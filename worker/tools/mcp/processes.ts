import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { pause, within } from '../../../shared/base/lifecycle.ts';
import type { ServerLimits } from './config.ts';

/** A limit that is lower already stays. Shells differ in the letter for processes. */
const LIMITED =
  '{ ulimit -c 0; ulimit -n "$1"; ulimit -d "$2"; ulimit -u "$3" || ulimit -p "$3"; } 2> /dev/null; shift 3; exec "$@"';

/**
 * The memory that the kernel lets one process map for writing, beyond twice its limit. Node 26 maps 560 MB at its start and
 * 130 MB more with each thread, most of which it never uses. The address space is no measure: WebAssembly reserves 10 GB.
 */
const MAPPED_MB = 4_096;

/**
 * The words of a command that runs under the limits that the kernel holds itself: open files, memory that one process maps
 * for writing, and, where the kernel counts them for the server alone (`ownCount`), processes and threads.
 */
export function limitedCommand(words: readonly string[], limits: ServerLimits, ownCount: boolean): readonly string[] {
  const { openFiles, memoryMb, processes } = limits;
  const kilobytes = (2 * memoryMb + MAPPED_MB) * 1024;
  const values = [openFiles, kilobytes, ownCount ? processes : 'unlimited'].map(String);
  return ['/bin/sh', '-c', LIMITED, 'sh', ...values, ...words];
}

const LOOK_AT_USE_MS = 250;

/**
 * Looks four times a second at what a program and its descendants use, and calls `onBeyond` with a limit that they exceed.
 * Returns the function that stops it. Only Linux says what is used.
 */
export function watchUse(pid: number, limits: ServerLimits, onBeyond: (bound: string) => void): () => void {
  const timer = setInterval(() => {
    const { tasks, megabytes } = useOf(pid, limits.processes);
    if (tasks > limits.processes) onBeyond(`it runs more than ${limits.processes} processes and threads`);
    else if (megabytes > limits.memoryMb) onBeyond(`its processes use more than ${limits.memoryMb} MB of memory`);
  }, LOOK_AT_USE_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Counts no further than just beyond `tasksMax`. Files and memory that are shared by intent do not count. */
function useOf(pid: number, tasksMax: number): { tasks: number; megabytes: number } {
  const pids = new Set([pid]);
  let [tasks, kilobytes] = [0, 0];
  for (const each of pids) {
    try {
      kilobytes += Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1] ?? 0);
      for (const task of readdirSync(`/proc/${each}/task`)) {
        tasks += 1;
        if (tasks > tasksMax) return { tasks, megabytes: kilobytes / 1024 };
        const children = readFileSync(`/proc/${each}/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
        for (const child of children) pids.add(Number(child));
      }
    } catch {
      // It has ended meanwhile.
    }
  }
  return { tasks, megabytes: kilobytes / 1024 };
}

/** The variable by which the processes of one server are known, also those that left its process group. */
export const MARK = 'SPILLWAY_TOOL_SERVER';

/**
 * Kills every process whose environment has a text, again and again until there is none, since they may be starting others.
 * A line on stdin starts this at once. If stdin ends without a line, the gateway died: the script first waits `$2` seconds.
 */
const KILL_MARKED = `
read -r word || sleep "$2"
round=0
while [ "$round" -lt 50 ]; do
  found=$(printf '%s\\n' /proc/[0-9]*/environ | xargs grep -lsF "$1")
  [ -n "$found" ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -9 "\${pid%/environ}" 2> /dev/null; done
  round=$((round + 1))
done`;
const KILLED_MS = 5_000;

/**
 * Starts a shell that kills the marked processes at the end of the server, also when the gateway is killed: its input ends
 * with the gateway. Returns a function that starts the kill now. Bubblewrap needs no such shell, since the kernel ends a
 * process namespace as a whole. Only Linux shows the environment of a process.
 */
export function watchLeftovers(mark: string, graceMs: number): () => Promise<void> {
  if (!existsSync('/proc/self/environ')) return async () => undefined;
  const words = ['-c', KILL_MARKED, 'sh', `${MARK}=${mark}`, String(Math.ceil(graceMs / 1_000))];
  // Not our environment: the secrets in it would outlive us.
  const env = getDefaultEnvironment();
  const shell = spawn('/bin/sh', words, { cwd: '/', env, stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  const ended = once(shell, 'exit').catch(() => undefined);
  shell.stdin.on('error', () => undefined);
  return async () => {
    shell.stdin.end('now\n');
    await within(ended, KILLED_MS);
  };
}

export function hasEnded({ exitCode, signalCode }: ChildProcessWithoutNullStreams): boolean {
  return exitCode !== null || signalCode !== null;
}

const LOOK_MS = 10;

/**
 * Ends a child as MCP asks: its input ends first, then come SIGTERM and at last SIGKILL, for the whole group, each after
 * `graceMs`. Nothing outlives a child that is a sandbox (`endsAll`): what was in it is gone, even if the system still
 * counts it.
 */
export async function endGroup(
  child: ChildProcessWithoutNullStreams,
  graceMs: number,
  endsAll: boolean,
): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const isGone = () => (endsAll ? hasEnded(child) : !signalGroup(pid, 0));
  child.stdin.end();
  // Further output is discarded, but the pipe must not fill: that would keep the child from ending.
  child.stdout.removeAllListeners('data').resume();
  if (await comesTrue(isGone, graceMs)) return;
  signalGroup(pid, 'SIGTERM');
  if (await comesTrue(isGone, graceMs)) return;
  signalGroup(pid, 'SIGKILL');
  await comesTrue(isGone, KILLED_MS);
}

async function comesTrue(isSo: () => boolean, ms: number): Promise<boolean> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await pause(LOOK_MS)) {
    if (isSo()) return true;
  }
  return isSo();
}

/** Whether any process got the signal. A group id is not reused while the group has a process. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
