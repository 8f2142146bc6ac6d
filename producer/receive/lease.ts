import type { Root } from '../../shared/app/process.ts';
import { type Service, within } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { nextReady, type RedisClient } from '../../shared/redis/connection.ts';
import { openReceiverLease } from '../../shared/state/process/receiver.ts';

/** A period during which this process holds the lease. */
export interface Term {
  /** Aborts when this process has lost the lease or may have lost it, and when the term ends. */
  readonly lost: AbortSignal;
  /** Whether the lease is still ours according to the clock. Correct even in a process that was frozen until now. */
  isHeld(): boolean;
  /** Renews the lease. False if Redis does not answer, or if another process has the lease or may have had it meanwhile. */
  renew(): Promise<boolean>;
  /** Ends the term. Releases the lease, so that another process can take it at once; without Redis, the lease expires. */
  end(): Promise<void>;
}

/**
 * The right to poll, or to look after the webhook. At most one process of a bot has the lease, as long as all clocks run at the
 * same speed and Redis loses no write. If Redis loses its data, two processes may poll for a moment. Even then no update is
 * lost or reordered, because Telegram ends the older poll (409), `accept.lua` stores an update id once, and a process confirms
 * no update that it has not handled.
 */
export interface Lease {
  /** Waits until this process has the lease; `undefined` if `signal` aborts first. */
  begin(signal: AbortSignal): Promise<Term | undefined>;
  /** The name of the process that has the lease; `undefined` before the first answer from Redis, and after a failed request. */
  holder(): string | undefined;
}

/** How long the lease lasts after a renewal. If its holder dies, nobody polls for up to this time plus `LEASE_RETRY_MS`. */
export const LEASE_LASTS_MS = 5_000;
const LEASE_RETRY_MS = 500;
/** A holder that cannot renew its lease stops after this share of the lease's time, before another process can begin. */
const HELD_SHARE = 0.9;
/** How long the end of a term waits for the release. If Redis is unreachable, the lease expires by itself. */
const RELEASE_MS = 1_000;

/**
 * Opens a bot's lease, which lasts for `leaseLastsMs` after a renewal. A term renews the lease three times in that time. A
 * process that waits for the lease asks for it every `leaseRetryMs`, and as soon as its connection to Redis opens.
 */
export function openLease(
  { redis, telegram, processName, log }: Pick<Root, 'telegram' | 'processName' | 'log'> & { redis: RedisClient },
  { leaseLastsMs = LEASE_LASTS_MS, leaseRetryMs = LEASE_RETRY_MS },
): Lease {
  const hold = openReceiverLease(redis, telegram.botId);
  let holder: string | undefined;
  /** Takes or renews the lease. Returns when our term ends; 0 if another process has the lease; `undefined` for no answer. */
  const ask = async (): Promise<number | undefined> => {
    // Count from the time before the request: Redis counts from a later time, so our term ends before the lease.
    const askedAtMs = performance.now();
    const previous = holder;
    holder = await hold(processName, leaseLastsMs).catch(() => undefined);
    if (holder === undefined) return undefined;
    const isOurs = holder === processName;
    if (holder !== previous) log.info({ holder: isOurs ? 'us' : 'another' }, 'who holds the lease has changed');
    return isOurs ? askedAtMs + leaseLastsMs * HELD_SHARE : 0;
  };
  const startTerm = (firstUntilMs: number): Term => {
    const lost = new AbortController();
    let untilMs = 0;
    let timer: NodeJS.Timeout | undefined;
    const keepUntil = (ms: number): void => {
      untilMs = Math.max(untilMs, ms);
      clearTimeout(timer);
      timer = setTimeout(() => lost.abort(), untilMs - performance.now());
    };
    const isHeld = () => !lost.signal.aborted && performance.now() < untilMs;
    const renew = async (): Promise<boolean> => {
      const nextMs = await ask();
      if (nextMs === undefined) return false;
      // A renewal after the end of the term does not continue it: another process may have received updates meanwhile.
      if (nextMs === 0 || !isHeld()) lost.abort();
      else keepUntil(nextMs);
      return isHeld();
    };
    keepUntil(firstUntilMs);
    const renewing = setInterval(renew, leaseLastsMs / 3);
    lost.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      clearInterval(renewing);
    });
    const end = async (): Promise<void> => {
      lost.abort();
      const released = hold(processName, 0).catch(() => {});
      await within(released, RELEASE_MS);
    };
    return { lost: lost.signal, isHeld, renew, end };
  };
  return {
    async begin(signal) {
      while (!signal.aborted) {
        const untilMs = (await ask()) ?? 0;
        if (untilMs > performance.now()) return startTerm(untilMs);
        await pauseUntilOpen(redis, leaseRetryMs, signal);
      }
      return undefined;
    },
    holder: () => holder,
  };
}

/** Waits for `ms`, or until the connection opens or `signal` aborts. A closed connection fails every command at once. */
async function pauseUntilOpen(redis: RedisClient, ms: number, signal: AbortSignal): Promise<void> {
  await within(nextReady(redis, AbortSignal.any([signal, AbortSignal.timeout(ms)])), ms, signal);
}

const RETRY_MS = 1_000;

/**
 * Runs `work` in each term of the lease, one term after another, until the service stops. Passes `work` a signal, which aborts
 * when the service stops or the lease is lost. When the work ends or fails, its term ends, too, and the next term begins.
 */
export function runInTerms(
  name: string,
  { lease, log }: { lease: Pick<Lease, 'begin'>; log: Logger },
  work: (term: Term, signal: AbortSignal) => Promise<void>,
): Service {
  return runLoop({
    name,
    async round(signal) {
      const term = await lease.begin(signal);
      if (term === undefined) return 0;
      try {
        await work(term, AbortSignal.any([signal, term.lost]));
      } finally {
        await term.end();
      }
      return 0;
    },
    retryMs: RETRY_MS,
    onError: (error) =>
      log.error({ err: error, service: name }, 'what only one process does has failed; it begins anew'),
  });
}
