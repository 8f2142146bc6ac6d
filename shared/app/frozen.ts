/** The code that the thread of `loop-watch.ts` loads when the event loop of its process stands still. */
import { type Debugger, Session } from 'node:inspector/promises';
import { within } from '../base/lifecycle.ts';
import { createLogger } from '../base/log.ts';
import { connectRedis } from '../redis/connection.ts';
import { noteFrozen } from '../state/process/process.ts';
import type { FrozenProcess } from './loop-watch.ts';

/** How long to wait until the debugger stops the main thread. A thread in native code or a system call does not stop. */
const STACK_MS = 2_000;
const NOTE_MS = 3_000;
const FRAMES_MAX = 8;
/** The exit code that shells report for a process ended by SIGKILL: 128 plus the number of the signal. */
const EXIT_KILLED = 137;

/**
 * Logs the place in the code at which the event loop stands still, stores that place for an alert, and ends the process. The
 * search for the place and the write have time limits, and the process ends even if the search or the write fails.
 */
export async function endFrozen({ processName, redisAddress, frozenMs }: FrozenProcess): Promise<void> {
  const session = new Session();
  const stopped = await stopLoop(session).catch(() => undefined);
  const where = stopped === undefined ? 'in code that cannot be interrupted' : stopped.where;
  createLogger('fatal').fatal({ frozenMs, where }, 'the event loop stands still; the process is ended');
  await within(noteFrozen(connectRedis(redisAddress, 'patient'), processName, where), NOTE_MS).catch(() => {});
  process.kill(process.pid, 'SIGKILL');
  // Process 1 of a container is still alive here, because the system ignores a SIGKILL that such a process sends to itself.
  const { callFrameId } = stopped?.frame ?? {};
  if (callFrameId)
    await session.post('Debugger.evaluateOnCallFrame', {
      callFrameId,
      expression: `process.reallyExit(${EXIT_KILLED})`,
    });
}

/** Stops the main thread and returns its call stack, in words, and its innermost frame. Rejects if the thread does not stop. */
async function stopLoop(session: Session): Promise<{ where: string; frame: Debugger.CallFrame | undefined }> {
  const scripts = new Map<string, string>();
  const paused = Promise.withResolvers<Debugger.CallFrame[]>();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => scripts.set(scriptId, url));
  session.on('Debugger.paused', ({ params: { callFrames } }) => paused.resolve(callFrames));
  session.connectToMainThread();
  const request = session.post('Debugger.enable').then(() => session.post('Debugger.pause'));
  const frames = await within(Promise.race([paused.promise, request.then(() => paused.promise)]), STACK_MS);
  if (frames === undefined) throw new Error('it cannot be stopped');
  const lines = frames
    .slice(0, FRAMES_MAX)
    .map(({ functionName, location: { scriptId, lineNumber, columnNumber } }) => {
      const place = `${scripts.get(scriptId) ?? ''}:${lineNumber + 1}:${(columnNumber ?? 0) + 1}`;
      return `${functionName || 'anonymous'} (${place})`;
    });
  return { where: lines.join(' < '), frame: frames[0] };
}
