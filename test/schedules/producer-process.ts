import { createAccept } from '../../producer/accept/accept.ts';
import type { Term } from '../../producer/receive/lease.ts';
import { startPoller } from '../../producer/receive/poller.ts';
import { createInbox } from '../../shared/state/message/inbox.ts';
import { gatedRedis } from './gated-redis.ts';
import { type Ground, INTAKE } from './ground.ts';
import type { Process } from './process.ts';
import { SHARDS } from './shards.ts';
import { telegramOf } from './telegram.ts';

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
    const accept = createAccept({
      botId: 1,
      inbox: createInbox(gatedRedis(redis, process), SHARDS),
      places: { allowed: async () => 'everyone', answersAll: 'everyone' },
      limits: { textMaxChars: 100, groupContextMessages: 0 },
      ownName: { current: () => undefined },
      atOnce: { answerPress: async () => undefined },
      observability: INTAKE,
    });
    process.strands += 1;
    const poller = startPoller({
      accept,
      lease: { begin: () => this.#begin() },
      shards: SHARDS,
      heartbeat: { answered() {}, failed: () => this.#rest() },
      telegram: telegramOf(process, history),
      log: INTAKE.log,
      reach: INTAKE.reach,
    });
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
        return { lost: term.signal, isHeld, confirm: async () => isHeld(), end: async () => {} };
      },
    });
  }

  #rest(): void {
    if (this.process.isDead || this.#isResting) return;
    this.#isResting = true;
    this.process.strands -= 1;
  }
}
