import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { pause } from '../../../shared/base/lifecycle.ts';

const LOOK_MS = 10;

/** Ends a child as MCP asks: its input ends first, then come SIGTERM and at last SIGKILL, for the whole group. */
export async function endGroup(child: ChildProcessWithoutNullStreams | undefined, graceMs: number): Promise<void> {
  if (child?.pid === undefined) return;
  const { pid } = child;
  child.stdin.end();
  // Further output is discarded, but the pipe must not fill: that would keep the child from ending.
  child.stdout.resume();
  if (await isGone(pid, graceMs)) return;
  signalGroup(pid, 'SIGTERM');
  if (await isGone(pid, graceMs)) return;
  signalGroup(pid, 'SIGKILL');
  await isGone(pid, graceMs);
}

async function isGone(pid: number, ms: number): Promise<boolean> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await pause(LOOK_MS)) {
    if (!signalGroup(pid, 0)) return true;
  }
  return !signalGroup(pid, 0);
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
