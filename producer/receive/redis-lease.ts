import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { pause } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { ownMark, type ProcessMark } from '../../shared/base/machine.ts';
import { type RedisClient, serverOf } from '../../shared/redis/connection.ts';
import { bindScript, type RunScript } from '../../shared/redis/script.ts';
import { type Holder, introduce, lookFor, readHolder } from './holder.ts';
import type { Lease, Standing } from './lease.ts';
import { RunningTerm, type Term } from './term.ts';

export interface LeasePorts {
  /** A fail-fast connection. */
  redis: RedisClient;
  key: string;
  log: Logger;
  /** How long the lease lasts after its last renewal. */
  lastsMs: number;
  /** The wait between two attempts to acquire it, and between two checks of its holder. */
  retryMs: number;
  /** Our identity; by default this process. */
  mark?: ProcessMark;
}

/**
 * The delay that a holder causes when it freezes or its machine is lost. A Redis pause longer than this costs one
 * restarted poll, and nothing else.
 */
export const LEASE_LASTS_MS = 5_000;
export const LEASE_RETRY_MS = 500;

/** We treat the lease as lost when this share of it is left, so that we stop before another process can take it. */
const MARGIN_SHARE = 0.1;
/** A stop must not hang on an unreachable Redis: the lease expires by itself. */
const RELEASE_MS = 1_000;
/** A missing connection may just have been replaced; the second check shows that. */
const SIGHTS = 2;

/**
 * Keeps trying to acquire a lease, and renews it every third of its life while we hold it.
 *
 * A dead holder is detected by more than time. The key names its process and its connection. Each waiting process
 * checks both: it succeeds a process of the same machine that has ended at once, and a connection that the server no
 * longer lists after two checks. The takeover succeeds only if the key still holds the value that was judged. So of two
 * successors one wins, and a holder that is back under a new connection keeps the lease. A frozen holder keeps its
 * connection, and loses the lease by time.
 *
 * Why that is safe: a holder ends its term as soon as its connection closes. So a closed connection means that the term
 * is over, or will be when that process next runs or asks. A holder that has not noticed yet (the server dropped the
 * connection, and no packet has said so) may have a long poll open beside its successor's. Two polls at once lose
 * nothing and change no order: Telegram ends the older one (409). If both get the same updates, each stores them in
 * order and stops at the first that it cannot store. An update id is stored once (`accept.lua`), by the first to write
 * it, so each update is stored after those before it. An update is confirmed only by a poll that began after `confirm`
 * got Redis' answer for our term, and only up to what that process has stored itself.
 */
export function startLease(ports: LeasePorts): Lease {
  return new RedisLease(ports);
}

/** The other holder in the key, and how many times in a row its connection was seen to be gone. */
interface Other {
  text: string;
  holder: Holder | undefined;
  sights: number;
}

class RedisLease implements Lease {
  readonly name = 'lease';
  readonly #ports: LeasePorts;
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

  constructor(ports: LeasePorts) {
    this.#ports = ports;
    this.#mark = ports.mark ?? ownMark();
    this.#hold = bindScript(ports.redis, join(import.meta.dirname, 'acquire-lease.lua'));
    this.#letGo = bindScript(ports.redis, join(import.meta.dirname, 'release-lease.lua'));
    ports.redis.on('ready', () => this.#wake.abort());
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
    const { lastsMs, retryMs } = this.#ports;
    while (!this.#stopping.signal.aborted) {
      // A connection that becomes ready again is used at once, even if that happens while we ask.
      this.#wake = new AbortController();
      const isHeld = (await this.#ask()) || (await this.#succeed());
      await pause(isHeld ? lastsMs / 3 : retryMs, AbortSignal.any([this.#stopping.signal, this.#wake.signal]));
    }
  }

  /** Asks for the lease, or for its renewal; `gone` is the key's value for a holder that is gone. */
  async #ask(gone = ''): Promise<boolean> {
    const { key, lastsMs, log } = this.#ports;
    // Measured from before the request: Redis cannot count the lease from an earlier time.
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

  /** Takes over the lease of a holder that is gone. */
  async #succeed(): Promise<boolean> {
    const other = this.#other;
    if (this.#who !== 'another' || other?.holder === undefined) return false;
    if (!(await this.#isGone(other, other.holder))) return false;
    const { log, key } = this.#ports;
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
      this.#ports.log.debug({ err: error, lease: this.#ports.key }, 'Redis did not say whether the holder is there');
      return false;
    }
  }

  /** Our identity on the current connection: it shows others that we are alive, so a term ends with it. */
  async #introduced(): Promise<Holder> {
    const server = serverOf(this.#ports.redis, this.#ports.key);
    // After a cluster failover only a request finds the node that has the key, so we ask all the same.
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
    const { key, log } = this.#ports;
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
    const onLost = () => this.#ports.log.warn({ lease: this.#ports.key }, 'the lease is lost');
    this.#term = new RunningTerm(untilMs, () => this.#ask(), onLost);
    this.#begun.dispatchEvent(new Event('begun'));
  }

  async #release(): Promise<void> {
    // A request still in flight must not take the lease again after we release it.
    await this.#keeping;
    const { key, log } = this.#ports;
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
