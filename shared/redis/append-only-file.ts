import type { Redis } from 'ioredis';
import { pause } from '../base/lifecycle.ts';

const LOOK_MS = 100;

/**
 * Rewrites the append-only file of a server from the data that the server has now, and resolves when the old files are
 * replaced. Rejects when the rewrite fails, when the server ends meanwhile, and when `signal` aborts.
 */
export async function rewriteAppendOnlyFile(server: Redis, signal: AbortSignal): Promise<void> {
  // In the form of a snapshot, which is the default, the file would keep entries that were deleted from a stream.
  await server.config('SET', 'aof-use-rdb-preamble', 'no');
  const before = await untilIdle(server, signal);
  await server.bgrewriteaof();
  const after = await untilIdle(server, signal);
  if (runOf(before) !== runOf(after) || !/^aof_last_bgrewrite_status:ok/m.test(after))
    throw new Error('Redis did not finish the rewrite of its append-only file.');
}

/** Waits for a rewrite that runs or is about to, and returns what the server then says about itself. */
async function untilIdle(server: Redis, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const info = await server.info();
    if (!/^aof_rewrite_(?:in_progress|scheduled):1/m.test(info)) return info;
    await pause(LOOK_MS, signal);
  }
}

/** The name of this run of the server. A server that was started again knows nothing of an earlier rewrite. */
function runOf(info: string): string | undefined {
  return /^run_id:(\w+)/m.exec(info)?.[1];
}
