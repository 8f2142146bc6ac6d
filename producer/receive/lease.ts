import type { Root } from '../../shared/app/process.ts';
import { type Service, within } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { nextReady, type RedisClient } from '../../shared/redis/connection.ts';
import { openReceiverLease } from '../../shared/state/process/receiver.ts';

/** A period during which this process holds the lease. */
export interface Term {
  /** Aborts when the lease is lost, or may be lost by now. */
  readonly lost: AbortSignal;
  /** Whether the lease is still ours by the clock; right also in a process that was frozen until now. */
  isHeld(): boolean;
  /** Renews the lease. False if another process has it, or Redis does not answer. */
  renew(): Promise<boolean>;
  /** Ends the term and releases the lease, so that another process can take it at once. */
  end(): Promise<void>;
}

/**
 * The right to receive. At most one process of a bot has the lease, as long as the clocks run at the same speed and Redis keeps
 * its writes. After a loss of Redis' data two processes may poll for a moment. No update is lost or reordered then: Telegram
 * ends the older poll (409), `accept.lua` stores an update id once, and a process confirms only the updates that it stored.
 */
export interface Lease {
  /** Waits until we hold the lease; `undefined` when `signal` aborts first. */
  begin(signal: AbortSignal): Promise<Term | undefined>;
  /** The name of the process that has the lease; `undefined` when Redis did not answer the last request. */
  holder(): string | undefined;
}

/** With the retry interval, the time without a receiver after the holder was killed. */
export const LEASE_LASTS_MS = 5_000;
const LEASE_RETRY_MS = 500;
/** A holder stops after this share of its lease, so that it stops before another process can begin. */
const HELD_SHARE = 0.9;
/** The time for releasing the lease at a stop. If Redis is unreachable, the lease expires by itself. */
const RELEASE_MS = 1_000;

/**
 * Opens the lease of a bot, which lasts for `leaseLastsMs` after a renewal. A term renews the lease three times in that time. A
 * process without the lease asks for it every `leaseRetryMs`, and as soon as its connection to Redis opens.
 */
export function openLease(
  { redis, telegram, processName, log }: Pick<Root, 'telegram' | 'processName' | 'log'> & { redis: RedisClient },
  { leaseLastsMs = LEASE_LASTS_MS, leaseRetryMs = LEASE_RETRY_MS },
): Lease {
  const hold = openReceiverLease(redis, telegram.botId);
  let holder: string | undefined;
  /** Takes or renews the lease. Returns the time of its end; 0 if another process has it, `undefined` without an answer. */
  const ask = async (): Promise<number | undefined> => {
    // Count from before the request: Redis starts the lease later than that.
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
      // A renewal after the end of the term does not continue the term: another process may have received in between.
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

/** Waits for `ms`, or until the connection opens. A closed connection refuses every command. */
async function pauseUntilOpen(redis: RedisClient, ms: number, signal: AbortSignal): Promise<void> {
  await within(nextReady(redis, AbortSignal.any([signal, AbortSignal.timeout(ms)])), ms, signal);
}

const RETRY_MS = 1_000;

/**
 * Runs the work in each term, one after the other, until the service stops. The signal of the work aborts at the stop, and when
 * the term ends. A failure of the work ends its term.
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
