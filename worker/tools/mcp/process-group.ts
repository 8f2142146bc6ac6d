import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { pause } from '../../../shared/base/lifecycle.ts';

const LOOK_MS = 10;

/**
 * Ends a child as MCP asks: its input ends first, then come SIGTERM and at last SIGKILL, for the whole group. Nothing
 * outlives a child that is a sandbox (`endsAll`): what was in it is gone, even if the system still counts it.
 */
export async function endGroup(
  child: ChildProcessWithoutNullStreams | undefined,
  graceMs: number,
  endsAll: boolean,
): Promise<void> {
  if (child?.pid === undefined) return;
  const { pid } = child;
  const isGone = () => (endsAll ? child.exitCode !== null || child.signalCode !== null : !signalGroup(pid, 0));
  child.stdin.end();
  // Further output is discarded, but the pipe must not fill: that would keep the child from ending.
  child.stdout.resume();
  if (await comesTrue(isGone, graceMs)) return;
  signalGroup(pid, 'SIGTERM');
  if (await comesTrue(isGone, graceMs)) return;
  signalGroup(pid, 'SIGKILL');
  await comesTrue(isGone, graceMs);
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
