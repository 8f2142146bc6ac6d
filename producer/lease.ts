import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pause, type Service } from '../shared/lifecycle.ts';
import type { Logger } from '../shared/log.ts';
import type { RedisClient } from '../shared/redis.ts';
import { bindScript } from '../shared/script.ts';

/** A time during which the lease is ours. */
export interface Term {
  /** Aborts when the lease is lost, or when it could be by now. */
  readonly lost: AbortSignal;
  /** Whether it is still ours. Asks only the clock, so it is right even in a process that was frozen until now. */
  isHeld(): boolean;
  /** Asks Redis whether it is still ours, and renews it. False also when Redis does not answer. */
  confirm(): Promise<boolean>;
}

/**
 * The right to do what only one process may do at a time.
 *
 * Contract: of all who share a key at most one holds it at any time, as long as their clocks run at the same speed and
 * Redis keeps what it was told. Without Redis nobody holds it. `stop` gives it back, so that another has it at once.
 */
export interface Lease extends Service {
  /** Waits until the lease is ours; `undefined` when `signal` aborts first. */
  begin(signal: AbortSignal): Promise<Term | undefined>;
  /** Who has it, as far as we know; `nobody known` while Redis is away. */
  holder(): Holder;
}

/** Who has a lease. */
export type Holder = 'us' | 'another' | 'nobody known';

export interface LeaseParts {
  /** A fail-fast connection. */
  redis: RedisClient;
  key: string;
  log: Logger;
  /** How long the lease outlives the last renewal. */
  lastsMs: number;
  /** How long to wait between two tries to get it. */
  retryMs: number;
}

export const LEASE_LASTS_MS = 30_000;
export const LEASE_RETRY_MS = 2_000;

/** A holder whose lease nobody confirms asks again after this. */
export const UNCONFIRMED_MS = 1_000;

/** We take the lease for lost when so much of it is left, so that we have stopped before another can take it. */
const MARGIN_SHARE = 0.1;
/** A stop must not hang on a Redis that is away: the lease runs out by itself. */
const RELEASE_MS = 1_000;

/** Keeps trying to get a lease, and renews it every third of its life while it is ours. */
export function startLease(parts: LeaseParts): Lease {
  const { redis, key, log } = parts;
  const owner = randomUUID();
  const hold = bindScript<0 | 1>(redis, join(import.meta.dirname, 'hold.lua'));
  const letGo = bindScript<0 | 1>(redis, join(import.meta.dirname, 'let-go.lua'));
  const stopping = new AbortController();
  const begun = new EventTarget();
  let term: RunningTerm | undefined;
  let holder: Holder = 'nobody known';

  const learn = (now: Holder): void => {
    if (now !== holder) log.info({ lease: key, holder: now }, 'who holds the lease has changed');
    holder = now;
  };
  const askRedis = async (): Promise<boolean> => {
    // Measured from before the question: Redis cannot count the lease from any earlier time.
    const askedAtMs = performance.now();
    try {
      const isOurs = (await hold([key], [owner, parts.lastsMs])) === 1;
      learn(isOurs ? 'us' : 'another');
      if (!isOurs) term?.end();
      else if (!stopping.signal.aborted) extend(askedAtMs + parts.lastsMs * (1 - MARGIN_SHARE));
      return isOurs && term?.isHeld() === true;
    } catch (error) {
      log.debug({ err: error, lease: key }, 'Redis did not say who holds the lease');
      if (!term?.isHeld()) learn('nobody known');
      return false;
    }
  };
  const extend = (untilMs: number): void => {
    if (term?.isHeld()) {
      term.extend(untilMs);
      return;
    }
    term?.end();
    // An answer that took longer than the lease lasts is no answer.
    if (performance.now() >= untilMs) return;
    term = new RunningTerm(untilMs, askRedis, () => log.warn({ lease: key }, 'the lease is lost'));
    begun.dispatchEvent(new Event('begun'));
  };
  const keep = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const isHeld = await askRedis();
      await pause(isHeld ? parts.lastsMs / 3 : parts.retryMs, stopping.signal);
    }
  };
  const keeping = keep();
  const release = async (): Promise<void> => {
    // A question that is still on its way must not take the lease again behind our back.
    await keeping;
    await letGo([key], [owner]).catch((error: Error) =>
      log.debug({ err: error, lease: key }, 'the lease could not be given back; it runs out by itself'),
    );
  };
  return {
    name: 'lease',
    holder: () => (term?.isHeld() ? 'us' : holder === 'us' ? 'nobody known' : holder),
    async begin(signal) {
      while (!signal.aborted && !term?.isHeld()) await nextEvent(begun, signal);
      return signal.aborted ? undefined : term;
    },
    async stop() {
      stopping.abort();
      term?.retire();
      const waited = new AbortController();
      await Promise.race([release(), pause(RELEASE_MS, waited.signal)]);
      waited.abort();
    },
  };
}

/** Does work in each term, one after the other, until `signal` aborts; the work's own signal aborts with its term, too. */
export async function duringTerms(
  lease: Pick<Lease, 'begin'>,
  signal: AbortSignal,
  work: (term: Term, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const term = await lease.begin(signal);
    if (term) await work(term, AbortSignal.any([signal, term.lost]));
  }
}

class RunningTerm implements Term {
  readonly confirm: () => Promise<boolean>;
  readonly #lost = new AbortController();
  readonly #onLost: () => void;
  #untilMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(untilMs: number, askRedis: () => Promise<boolean>, onLost: () => void) {
    this.#untilMs = untilMs;
    this.#onLost = onLost;
    this.confirm = async () => (await askRedis()) && this.isHeld();
    this.extend(untilMs);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  isHeld(): boolean {
    return !this.#lost.signal.aborted && performance.now() < this.#untilMs;
  }

  /** Holds the lease until then. Answers may overtake each other, so the latest time counts. */
  extend(untilMs: number): void {
    this.#untilMs = Math.max(this.#untilMs, untilMs);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(), this.#untilMs - performance.now());
  }

  /** The lease is lost. */
  end(): void {
    if (this.#lost.signal.aborted) return;
    this.retire();
    this.#onLost();
  }

  /** We give the lease up ourselves. */
  retire(): void {
    clearTimeout(this.#timer);
    this.#lost.abort();
  }
}

/** Waits for an event, or until `signal` is aborted. */
function nextEvent(target: EventTarget, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const heard = new AbortController();
  const done = (): void => {
    heard.abort();
    resolve();
  };
  target.addEventListener('begun', done, { signal: heard.signal });
  signal.addEventListener('abort', done, { signal: heard.signal });
  return promise;
}
