import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { rewriteAppendOnlyFile } from '../../shared/redis/append-only-file.ts';
import { type RedisClient, serversOf } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { hasErasures, settleErasures } from '../../shared/state/chat/erasures.ts';
import { createPasses } from '../../shared/state/process/process.ts';

export interface ErasedTextPorts {
  redis: RedisClient;
  keys: Keys;
  log: Logger;
  /** Whether the server is our private one. The files of others are their operator's. */
  isPrivate: boolean;
}

const LOOK_EVERY_MS = 5_000;
/** All erasures of this time share a rewrite. */
const REWRITE_EVERY_MS = 60_000;

/** Removes erased text from the files of the private Redis. A rewrite that a crash interrupts is repeated. */
export function startErasedTextCleaner({ log, ...ports }: ErasedTextPorts): Service {
  const { redis, keys } = ports;
  return runLoop({
    name: 'erased text',
    async round(signal) {
      if (!(await hasErasures(redis, keys))) return LOOK_EVERY_MS;
      const waitMs = await createPasses(redis, keys).takeRewrite(REWRITE_EVERY_MS);
      if (waitMs === 0) await removeErasedText(ports, signal);
      return Math.max(waitMs, LOOK_EVERY_MS);
    },
    retryMs: LOOK_EVERY_MS,
    onError: (error) => log.warn({ err: error }, 'erased text is still in the files of Redis; it is tried again'),
  });
}

/** Removes erased text from the files of the private Redis. Rejects when it may still be there, and `signal` aborts the wait. */
export function removeErasedText(
  { redis, keys, isPrivate }: Omit<ErasedTextPorts, 'log'>,
  signal: AbortSignal,
): Promise<void> {
  return settleErasures(redis, keys, async () => {
    if (isPrivate) await Promise.all(serversOf(redis).map((server) => rewriteAppendOnlyFile(server, signal)));
  });
}
