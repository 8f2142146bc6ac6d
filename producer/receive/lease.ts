import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { ownMark, type ProcessMark } from '../../shared/base/machine.ts';
import { type RedisClient, serverOf } from '../../shared/redis/connection.ts';
import { bindScript, type RunScript } from '../../shared/redis/script.ts';
import { type Holder, introduce, lookFor, readHolder } from './holder.ts';
import { RunningTerm, type Term } from './term.ts';

/**
 * The right to do what only one process may do at a time.
 *
 * Contract: of all who share a key at most one holds it at any time, as long as their clocks run at the same speed and
 * Redis keeps what it was told; a holder whose connection broke unseen may overlap with its heir until it asks again.
 * Without Redis nobody holds it. `stop` gives it back, so that another has it at once.
 */
export interface Lease extends Service {
  /** Waits until the lease is ours; `undefined` when `signal` aborts first. */
  begin(signal: AbortSignal): Promise<Term | undefined>;
  /** Who has it, as far as we know. */
  standing(): Standing;
}

/** Who has a lease. `name` is for people; `isGone`: that one was seen to be gone, and nobody has it yet. */
export type Standing =
  | { readonly who: 'us' | 'nobody known' }
  | { readonly who: 'another'; readonly name: string; readonly isGone: boolean };

export interface LeaseParts {
  /** A fail-fast connection. */
  redis: RedisClient;
  key: string;
  log: Logger;
  /** How long the lease outlives the last renewal. */
  lastsMs: number;
  /** How long to wait between two tries to get it, and two looks at who has it. */
  retryMs: number;
  /** Who we are; by default this process. */
  mark?: ProcessMark;
}

/**
 * What a holder costs that is frozen, or lost with its machine. A Redis that stands still for longer costs a poll that is
 * begun again, and nothing else.
 */
export const LEASE_LASTS_MS = 5_000;
export const LEASE_RETRY_MS = 500;

/** A holder whose lease nobody confirms asks again after this. */
export const UNCONFIRMED_MS = 1_000;

/** We take the lease for lost when so much of it is left, so that we have stopped before another can take it. */
const MARGIN_SHARE = 0.1;
/** A stop must not hang on a Redis that is away: the lease runs out by itself. */
const RELEASE_MS = 1_000;
/** A connection that is gone may be one that was just replaced, which the second look tells. */
const SIGHTS = 2;

/**
 * Keeps trying to get a lease, and renews it every third of its life while it is ours.
 *
 * A dead holder is known by more than time. The key names its process and its connection. Who waits looks for both: a
 * process of the same machine that has ended is succeeded at once, a connection that the server no longer lists after
 * two looks. The step that takes the lease over does so only if the key still says what was judged, so of two heirs one
 * wins, and a holder that is back under a new connection keeps it. A holder that is frozen keeps its connection, and loses
 * the lease by time.
 *
 * Why that is safe: a holder ends its term as soon as its connection closes, so a connection that is gone is a term that
 * is over, or is over when that process next runs or asks. One that does not know yet (the server dropped the
 * connection, and no packet has told) may have a long poll open beside its heir's. Two polls at once lose nothing and
 * change no order: Telegram ends the older one (409). Should both have got the same updates, each stores them in their
 * order and stops at the first that it cannot store, and an update id is stored once (`accept.lua`), by whoever comes
 * first; so each is stored after those before it. An update is confirmed only by a poll that was begun after `confirm` had
 * Redis answer for our term, and only up to what that process has stored itself.
 */
export function startLease(parts: LeaseParts): Lease {
  return new RedisLease(parts);
}

/**
 * Does work in each term, one after the other, until it is stopped; the work's signal aborts with its term, too. Work that
 * throws is begun anew, in the same term when that still lasts.
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

/** Somebody else in the key, and how often in a row we saw that its connection is gone. */
interface Other {
  text: string;
  holder: Holder | undefined;
  sights: number;
}

class RedisLease implements Lease {
  readonly name = 'lease';
  readonly #parts: LeaseParts;
  readonly #owner = randomUUID();
  readonly #mark: ProcessMark;
  readonly #hold: RunScript<string>;
  readonly #letGo: RunScript<0 | 1>;
  readonly #stopping = new AbortController();
  readonly #begun = new EventTarget();
  readonly #keeping: Promise<void>;
  #term: RunningTerm | undefined;
  #who: Standing['who'] = 'nobody known';
  #other: Other | undefined;
  #introduction: { server: Redis; us: Promise<Holder> } | undefined;
  #wake = new AbortController();

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#mark = parts.mark ?? ownMark();
    this.#hold = bindScript(parts.redis, join(import.meta.dirname, 'acquire-lease.lua'));
    this.#letGo = bindScript(parts.redis, join(import.meta.dirname, 'release-lease.lua'));
    parts.redis.on('ready', () => this.#wake.abort());
    this.#keeping = this.#keep();
  }

  standing(): Standing {
    if (this.#term?.isHeld()) return { who: 'us' };
    if (this.#who !== 'another' || this.#other === undefined) return { who: 'nobody known' };
    const { holder, sights } = this.#other;
    const name = holder === undefined ? 'an older version' : `process ${holder.pid} on ${holder.host}`;
    return { who: 'another', name, isGone: sights > 0 };
  }

  async begin(signal: AbortSignal): Promise<Term | undefined> {
    while (!signal.aborted && !this.#term?.isHeld()) await nextEvent(this.#begun, signal);
    return signal.aborted ? undefined : this.#term;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#term?.retire();
    const waited = new AbortController();
    await Promise.race([this.#release(), pause(RELEASE_MS, waited.signal)]);
    waited.abort();
  }

  async #keep(): Promise<void> {
    const { lastsMs, retryMs } = this.#parts;
    while (!this.#stopping.signal.aborted) {
      // A connection that is ready again is asked at once, also when it gets so while we ask.
      this.#wake = new AbortController();
      const isHeld = (await this.#ask()) || (await this.#succeed());
      await pause(isHeld ? lastsMs / 3 : retryMs, AbortSignal.any([this.#stopping.signal, this.#wake.signal]));
    }
  }

  /** Asks for the lease, or for more of it; `gone` is what the key said of a holder that is gone. */
  async #ask(gone = ''): Promise<boolean> {
    const { key, lastsMs, log } = this.#parts;
    // Measured from before the question: Redis cannot count the lease from any earlier time.
    const askedAtMs = performance.now();
    try {
      const text = JSON.stringify(await this.#introduced());
      const held = await this.#hold([key], [this.#owner, text, lastsMs, gone]);
      this.#learn(held === text ? undefined : held);
      if (held !== text) this.#term?.end();
      else if (!this.#stopping.signal.aborted) this.#extend(askedAtMs + lastsMs * (1 - MARGIN_SHARE));
      return held === text && this.#term?.isHeld() === true;
    } catch (error) {
      log.debug({ err: error, lease: key }, 'Redis did not say who holds the lease');
      if (!this.#term?.isHeld()) this.#who = 'nobody known';
      return false;
    }
  }

  /** Takes the lease over from a holder that is gone. */
  async #succeed(): Promise<boolean> {
    const other = this.#other;
    if (this.#who !== 'another' || other?.holder === undefined) return false;
    if (!(await this.#isGone(other, other.holder))) return false;
    const { log, key } = this.#parts;
    log.warn({ lease: key, host: other.holder.host, pid: other.holder.pid }, 'the holder of the lease is gone');
    return this.#ask(other.text);
  }

  async #isGone(other: Other, holder: Holder): Promise<boolean> {
    try {
      const us = await this.#introduced();
      const server = this.#introduction?.server;
      const sight = server === undefined ? 'unknown' : await lookFor(holder, us, server);
      other.sights = sight === 'unknown' ? 0 : other.sights + 1;
      return sight === 'ended' || other.sights >= SIGHTS;
    } catch (error) {
      this.#parts.log.debug({ err: error, lease: this.#parts.key }, 'Redis did not say whether the holder is there');
      return false;
    }
  }

  /** Who we are on the connection that we have: it tells others that we are there, so a term ends with it. */
  async #introduced(): Promise<Holder> {
    const server = serverOf(this.#parts.redis, this.#parts.key);
    // After a failover of a cluster only a question tells who has the key now, so it is asked all the same.
    if (server?.status !== 'ready') return { owner: this.#owner, ...this.#mark };
    if (this.#introduction?.server !== server) {
      const introduction = { server, us: introduce(server, this.#owner, this.#mark) };
      this.#introduction = introduction;
      const forget = (): void => {
        if (this.#introduction === introduction) this.#introduction = undefined;
      };
      introduction.us.catch(forget);
      server.once('close', () => {
        if (this.#introduction !== introduction) return;
        forget();
        this.#term?.end();
        this.#wake.abort();
      });
    }
    return this.#introduction.us;
  }

  #learn(text: string | undefined): void {
    if (text === undefined) this.#other = undefined;
    else if (this.#other?.text !== text) this.#other = { text, holder: readHolder(text), sights: 0 };
    const who = text === undefined ? 'us' : 'another';
    const { key, log } = this.#parts;
    if (who !== this.#who) log.info({ lease: key, holder: who }, 'who holds the lease has changed');
    this.#who = who;
  }

  #extend(untilMs: number): void {
    if (this.#term?.isHeld()) {
      this.#term.extend(untilMs);
      return;
    }
    this.#term?.end();
    // An answer that took longer than the lease lasts is no answer.
    if (performance.now() >= untilMs) return;
    const onLost = () => this.#parts.log.warn({ lease: this.#parts.key }, 'the lease is lost');
    this.#term = new RunningTerm(untilMs, () => this.#ask(), onLost);
    this.#begun.dispatchEvent(new Event('begun'));
  }

  async #release(): Promise<void> {
    // A question that is still on its way must not take the lease again behind our back.
    await this.#keeping;
    const { key, log } = this.#parts;
    await this.#letGo([key], [this.#owner]).catch((error: Error) =>
      log.debug({ err: error, lease: key }, 'the lease could not be given back; it runs out by itself'),
    );
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
