import { pause, type Service, within } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { openReceiverLease } from '../../shared/state/process/receiver.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';

/** A period during which this process holds the lease. */
export interface Term {
  /** Aborts when the lease is lost, or may be lost by now. */
  readonly lost: AbortSignal;
  /** Whether the lease is still ours by the clock; right also in a process that was frozen until now. */
  isHeld(): boolean;
  /** Asks Redis for the renewal. False also when Redis does not answer. */
  confirm(): Promise<boolean>;
  /** Ends the term and releases the lease, so that another process can take it at once. */
  end(): Promise<void>;
}

/**
 * The right to receive: at most one process of a bot has it, as long as the clocks run at the same speed and Redis keeps
 * its writes. After a loss of Redis' data two may poll for a moment. That loses nothing and changes no order: Telegram ends
 * the older poll (409), `accept.lua` stores an update id once, and a poll confirms only what its own process has stored.
 */
export interface Lease {
  /** Waits until we hold the lease; `undefined` when `signal` aborts first. */
  begin(signal: AbortSignal): Promise<Term | undefined>;
  /** The name of the process that had it when Redis last answered; `undefined` when Redis did not answer. */
  holder(): string | undefined;
}

export interface LeasePorts {
  /** A fail-fast connection. */
  redis: RedisClient;
  botId: number;
  /** Our name among all processes. */
  processName: string;
  log: Logger;
  /** How long the lease lasts after its last renewal. */
  lastsMs: number;
  /** The wait between two attempts to take it. */
  retryMs: number;
}

/** Together with the retry, the time without a receiver after the holder was killed. */
export const LEASE_LASTS_MS = 5_000;
export const LEASE_RETRY_MS = 500;
/** The wait before a holder asks again for a renewal that Redis did not confirm. */
export const UNCONFIRMED_MS = 1_000;

/** A holder stops polling when this share of its lease is left, so that it stops before another process can begin. */
const MARGIN_SHARE = 0.1;
/** A stop must not hang on an unreachable Redis: the lease runs out by itself. */
const RELEASE_MS = 1_000;

/** Opens the lease of a bot. A term renews it every third of its life. */
export function openLease(ports: LeasePorts): Lease {
  const { processName, log, lastsMs, retryMs } = ports;
  const hold = openReceiverLease(ports.redis, ports.botId);
  let holder: string | undefined;
  const ask = async (): Promise<number | undefined> => {
    // Measured from before the request: Redis cannot count the lease from an earlier time.
    const askedAtMs = performance.now();
    const before = holder;
    holder = await hold(processName, lastsMs).catch(() => undefined);
    if (holder === undefined) return undefined;
    const isOurs = holder === processName;
    if (holder !== before) log.info({ holder: isOurs ? 'us' : 'another' }, 'who holds the lease has changed');
    return isOurs ? askedAtMs + lastsMs * (1 - MARGIN_SHARE) : 0;
  };
  return {
    async begin(signal) {
      while (!signal.aborted) {
        const untilMs = (await ask()) ?? 0;
        if (untilMs > performance.now())
          return startTerm(untilMs, { ask, release: () => hold(processName, 0), lastsMs, log });
        await pause(retryMs, signal);
      }
      return undefined;
    },
    holder: () => holder,
  };
}

interface TermPorts extends Pick<LeasePorts, 'lastsMs' | 'log'> {
  /** Takes or renews the lease. Returns until when it is ours: 0 if another has it, `undefined` if Redis did not answer. */
  ask(): Promise<number | undefined>;
  release(): Promise<unknown>;
}

function startTerm(firstUntilMs: number, { ask, release, lastsMs, log }: TermPorts): Term {
  const lost = new AbortController();
  let untilMs = firstUntilMs;
  const isHeld = (): boolean => !lost.signal.aborted && performance.now() < untilMs;
  const lose = (): void => {
    if (!lost.signal.aborted) log.warn('the lease is lost');
    lost.abort();
  };
  const confirm = async (): Promise<boolean> => {
    const nextMs = await ask();
    if (nextMs === undefined) return false;
    // A renewal after the end of the term is none: another process may have received in between.
    if (nextMs === 0 || !isHeld()) lose();
    else untilMs = Math.max(untilMs, nextMs);
    return isHeld();
  };
  const runOut = (): void => {
    if (isHeld()) timer = setTimeout(runOut, untilMs - performance.now());
    else lose();
  };
  let timer = setTimeout(runOut, untilMs - performance.now());
  const renewing = setInterval(confirm, lastsMs / 3);
  lost.signal.addEventListener('abort', () => {
    clearTimeout(timer);
    clearInterval(renewing);
  });
  const end = async (): Promise<void> => {
    if (isHeld()) lost.abort();
    else lose();
    await within(
      release().catch(() => {}),
      RELEASE_MS,
    );
  };
  return { lost: lost.signal, isHeld, confirm, end };
}

/**
 * Runs the work in each term, one after the other, until stopped; the work's signal also aborts when its term ends. A
 * failure of the work ends its term.
 */
export function duringTerms(
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
    retryMs: UNCONFIRMED_MS,
    onError: (error) =>
      log.error({ err: error, service: name }, 'what only one process does has failed; it begins anew'),
  });
}

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
const CONFLICT_MS = 10_000;

/** The wait after `failures` failures in a row (at least one): from one second to half a minute. */
export function backoffMs(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS);
}

/**
 * Waits before the next call to Telegram: as long as Telegram asks, else with growing backoff. Returns early when
 * `signal` is aborted.
 */
export async function waitOut(failure: TelegramFailure, failures: number, signal: AbortSignal): Promise<void> {
  // Without this wait, two pollers would do nothing but end each other's polls.
  if (failure.kind === 'conflict') return pause(CONFLICT_MS, signal);
  return pause(failure.retryAfterMs ?? backoffMs(failures), signal);
}
