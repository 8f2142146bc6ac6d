import { pause, type Service, within } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { openReceiverLease } from '../../shared/state/process/receiver.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';

/** A period during which we hold the lease. */
export interface Term {
  /** Aborts when the lease is lost, or when it may be lost by now. */
  readonly lost: AbortSignal;
  /**
   * Whether we still hold it. Reads only the clock, so the answer is right even in a process that was frozen until now.
   */
  isHeld(): boolean;
  /** Asks Redis whether we still hold it, and renews it. False also when Redis does not answer. */
  confirm(): Promise<boolean>;
}

/**
 * The right to do what only one process may do at a time.
 *
 * Contract: of all processes of a bot, at most one holds the lease at any time, as long as their clocks run at the same
 * speed and Redis keeps its writes. A holder that Redis has forgotten may overlap with its successor until it asks
 * again. `stop` releases it, so that another process can take it at once.
 */
export interface Lease extends Service {
  /** Waits until we hold the lease; `undefined` when `signal` aborts first. */
  begin(signal: AbortSignal): Promise<Term | undefined>;
  /** Who holds it, as far as we know; `name` is the other process's. */
  standing(): Standing;
}

export type Standing = { readonly who: 'us' | 'nobody known' } | { readonly who: 'another'; readonly name: string };

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

/** With the retry, how long nobody receives after a holder was killed or froze. */
export const LEASE_LASTS_MS = 5_000;
export const LEASE_RETRY_MS = 500;
/** A holder whose lease was not confirmed asks again after this. */
export const UNCONFIRMED_MS = 1_000;

/** We treat the lease as lost when this share of it is left, so that we stop before another process can take it. */
const MARGIN_SHARE = 0.1;
/** A stop must not hang on an unreachable Redis: the lease runs out by itself. */
const RELEASE_MS = 1_000;

/**
 * Keeps trying to take the lease of a bot, and renews it every third of its life while we hold it.
 *
 * Two polls at once, as after a loss of Redis' data, lose nothing and change no order: Telegram ends the older one (409).
 * If both get the same updates, each stores those of a chat in order and stops at the first that it cannot store. An update id is
 * stored once (`accept.lua`), by the first to write it, so each update is stored after those before it. An update is
 * confirmed only by a poll that began after `confirm` got Redis' answer for our term, and only up to what that process
 * has stored itself.
 */
export function startLease(ports: LeasePorts): Lease {
  return new RenewedLease(ports);
}

class RenewedLease implements Lease {
  readonly name = 'lease';
  readonly #ports: LeasePorts;
  readonly #state: ReturnType<typeof openReceiverLease>;
  readonly #stopping = new AbortController();
  readonly #keeping: Promise<void>;
  #term: RunningTerm | undefined;
  #holder: string | undefined;
  #begun = Promise.withResolvers<void>();
  #wake = new AbortController();

  constructor(ports: LeasePorts) {
    this.#ports = ports;
    this.#state = openReceiverLease(ports.redis, ports.botId);
    ports.redis.on('ready', () => this.#wake.abort());
    this.#keeping = this.#keep();
  }

  standing(): Standing {
    if (this.#term?.isHeld()) return { who: 'us' };
    const isKnown = this.#holder !== undefined && this.#holder !== this.#ports.processName;
    return isKnown ? { who: 'another', name: this.#holder ?? '' } : { who: 'nobody known' };
  }

  async begin(signal: AbortSignal): Promise<Term | undefined> {
    while (!signal.aborted && !this.#term?.isHeld()) {
      const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
      signal.addEventListener('abort', resolve);
      await Promise.race([this.#begun.promise, aborted]);
      signal.removeEventListener('abort', resolve);
    }
    return signal.aborted ? undefined : this.#term;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#term?.end();
    await within(this.#release(), RELEASE_MS);
  }

  async #keep(): Promise<void> {
    const { lastsMs, retryMs } = this.#ports;
    while (!this.#stopping.signal.aborted) {
      // A connection that becomes ready again is used at once, even if that happens while we ask.
      this.#wake = new AbortController();
      const isHeld = await this.#ask();
      await pause(isHeld ? lastsMs / 3 : retryMs, AbortSignal.any([this.#stopping.signal, this.#wake.signal]));
    }
  }

  /** Asks for the lease, or for its renewal. */
  async #ask(): Promise<boolean> {
    const { processName, lastsMs, log } = this.#ports;
    // Measured from before the request: Redis cannot count the lease from an earlier time.
    const askedAtMs = performance.now();
    try {
      this.#learn(await this.#state.hold(processName, lastsMs));
    } catch (error) {
      log.debug({ err: error }, 'Redis did not say who holds the lease');
      if (!this.#term?.isHeld()) this.#holder = undefined;
      return false;
    }
    if (this.#holder !== processName) this.#lose();
    else if (!this.#stopping.signal.aborted) this.#extend(askedAtMs + lastsMs * (1 - MARGIN_SHARE));
    return this.#term?.isHeld() === true;
  }

  #learn(holder: string): void {
    const who = holder === this.#ports.processName ? 'us' : 'another';
    if (holder !== this.#holder) this.#ports.log.info({ holder: who }, 'who holds the lease has changed');
    this.#holder = holder;
  }

  #extend(untilMs: number): void {
    if (this.#term?.isHeld()) {
      this.#term.extend(untilMs);
      return;
    }
    this.#lose();
    // An answer that took longer than the lease lasts is no answer.
    if (performance.now() >= untilMs) return;
    this.#term = new RunningTerm(
      untilMs,
      () => this.#ask(),
      () => this.#lose(),
    );
    this.#begun.resolve();
    this.#begun = Promise.withResolvers();
  }

  #lose(): void {
    if (this.#term?.end()) this.#ports.log.warn('the lease is lost');
  }

  async #release(): Promise<void> {
    // A request still in flight must not take the lease again after we release it.
    await this.#keeping;
    await this.#state
      .release(this.#ports.processName)
      .catch((error: Error) =>
        this.#ports.log.debug({ err: error }, 'the lease is not released; it runs out by itself'),
      );
  }
}

/** A term that is extended and ended from outside. */
class RunningTerm implements Term {
  readonly confirm: () => Promise<boolean>;
  readonly #lost = new AbortController();
  readonly #onRunOut: () => void;
  #untilMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(untilMs: number, askRedis: () => Promise<boolean>, onRunOut: () => void) {
    this.#onRunOut = onRunOut;
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
    this.#timer = setTimeout(this.#onRunOut, this.#untilMs - performance.now());
  }

  /** Ends the term. Returns whether it had not ended before. */
  end(): boolean {
    clearTimeout(this.#timer);
    const isFirst = !this.#lost.signal.aborted;
    this.#lost.abort();
    return isFirst;
  }
}

/**
 * Runs the work in each term, one after the other, until stopped; the work's signal also aborts when its term ends.
 * Work that throws is restarted, in the same term if that is still held.
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
      if (term) await work(term, AbortSignal.any([signal, term.lost]));
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
