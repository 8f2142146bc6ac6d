import { createAccept } from '../../producer/accept/accept.ts';
import type { Term } from '../../producer/receive/lease.ts';
import { startPoller } from '../../producer/receive/poller.ts';
import { createInbox } from '../../shared/state/message/inbox.ts';
import { producerEnv } from '../fixture/producer-env.ts';
import { settingsOf } from '../fixture/settings.ts';
import { gatedRedis } from './gated-redis.ts';
import { type Ground, INTAKE } from './ground.ts';
import type { Process } from './process.ts';
import { SHARDS } from './shards.ts';
import { telegramOf } from './telegram.ts';

/** More shards than the product takes: each schedule that runs at the same time has one. */
const CONFIG = { ...settingsOf({ TELEGRAM_ANSWER_ALL_IDS: '*' }, 'tool'), SHARDS };

/** The right to poll, which one producer has at a time. */
export class Lease {
  holder: ProducerProcess | undefined;
}

/** A producer process: the product's poller and acceptance, under a lease that the schedule gives and takes. */
export class ProducerProcess {
  readonly process: Process;
  readonly #lease: Lease;
  /** It waits, by the clock, after an update that it could not store. */
  #isResting = false;
  #term = new AbortController();

  constructor(process: Process, lease: Lease, { redis, history }: Ground) {
    this.process = process;
    this.#lease = lease;
    const env = producerEnv({
      ...INTAKE,
      settings: CONFIG,
      inbox: createInbox(gatedRedis(redis, process), SHARDS),
      telegram: telegramOf(process, history),
      lease: { begin: () => this.#begin() },
      heartbeat: { answered() {}, failed: () => this.#rest() },
    });
    process.strands += 1;
    const poller = startPoller(env, createAccept(env));
    process.onEnd(() => {
      if (lease.holder === this) lease.holder = undefined;
      void poller.stop();
    });
  }

  /** Whether it polls, or waits to poll again. */
  get isHolder(): boolean {
    return this.#lease.holder === this;
  }

  /** Whether nothing will happen in it until its lease is lost: no schedule has a clock. */
  get isResting(): boolean {
    return this.#isResting;
  }

  /** The lease is lost: what it had begun goes on, and it has to begin anew. */
  loseLease(): void {
    if (this.#isResting) this.process.strands += 1;
    this.#isResting = false;
    this.#lease.holder = undefined;
    this.#term.abort();
  }

  #begin(): Promise<Term> {
    return this.process.effect({
      kind: 'lease',
      words: 'take the lease',
      isReady: () => this.#lease.holder === undefined,
      apply: () => {
        this.#lease.holder = this;
        const term = new AbortController();
        this.#term = term;
        const isHeld = () => !term.signal.aborted;
        return { lost: term.signal, isHeld, renew: async () => isHeld(), end: async () => {} };
      },
    });
  }

  #rest(): void {
    if (this.process.isDead || this.#isResting) return;
    this.#isResting = true;
    this.process.strands -= 1;
  }
}
