import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { seededRandom } from '../fixture/random.ts';
import { computed } from './computed.ts';
import { readEvidence } from './evidence.ts';
import { drawFault, type FaultMove } from './faults.ts';
import { Gateway } from './gateway.ts';
import { groundOf } from './ground.ts';
import { judge, type Violation } from './judge.ts';
import { type Move, naturalMoves } from './moves.ts';
import { drawPlan, type Fault } from './plan.ts';
import { chatsOf } from './shards.ts';

/** A fault that was played. */
export interface PlayedFault {
  readonly fault: Fault;
  readonly words: string;
}

/** What one schedule came to. */
export interface Played {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** What happened, in order, in words. */
  readonly trace: readonly string[];
  readonly faults: readonly PlayedFault[];
  readonly messages: number;
}

const NONE: ReadonlySet<number> = new Set();
/** More steps than any schedule needs; one that takes more runs in circles. */
const STEPS_MAX = 1_500;
const THAW = 0.04;
/** A step that waits for something else than the scheduler this long hangs. */
const LOOKS_MAX = 2_000;

/**
 * Plays one schedule: the product's processes over a shard of a real Redis, one effect at a time, in an order that the
 * seed decides. It goes on until nothing can happen any more, and is judged then. `without` names faults, by their place
 * among those drawn, that are left out.
 */
export async function playSchedule(
  redis: Redis,
  shard: number,
  seed: number,
  without: ReadonlySet<number> = NONE,
): Promise<Played> {
  const random = seededRandom(seed);
  const plan = drawPlan(random, chatsOf(shard));
  const ground = groundOf(redis, shard, plan.written);
  const gateway = new Gateway(ground, plan, random);
  const schedule = new Schedule(gateway, random, without);
  try {
    await schedule.play();
    const chats = [...new Set(plan.written.map(({ chatId }) => chatId))];
    const evidence = await readEvidence(ground, chats);
    const violations = [...schedule.violations, ...judge(plan, ground, evidence)];
    return {
      seed,
      violations,
      trace: schedule.trace,
      faults: schedule.faults,
      messages: plan.written.filter(({ kind }) => kind !== 'edit').length,
    };
  } finally {
    gateway.end();
  }
}

class Schedule {
  readonly trace: string[] = [];
  readonly faults: PlayedFault[] = [];
  readonly violations: Violation[] = [];
  readonly #gateway: Gateway;
  readonly #random: () => number;
  readonly #without: ReadonlySet<number>;
  #drawnFaults = 0;
  /** What the reconciler had before it when it passed last. */
  #atPass = '';

  constructor(gateway: Gateway, random: () => number, without: ReadonlySet<number>) {
    this.#gateway = gateway;
    this.#without = without;
    this.#random = random;
  }

  async play(): Promise<void> {
    await this.#gateway.begin();
    await this.#untilQuiet();
    for (let step = 0; step < STEPS_MAX; step++) {
      const move = this.#next();
      if (move === undefined) return;
      const fault = this.#faultInPlaceOf(move);
      this.trace.push(fault?.words ?? move.words());
      await (fault ?? move).play();
      if (!(await this.#untilQuiet())) return;
    }
    this.violations.push({ invariant: 'I6', seen: `it is not at rest after ${STEPS_MAX} steps` });
  }

  #faultInPlaceOf(move: Move): FaultMove | undefined {
    const drawn = drawFault(this.#gateway, move, this.#random);
    if (drawn === undefined || this.#without.has(this.#drawnFaults++)) return undefined;
    this.faults.push({ fault: drawn.fault, words: drawn.words });
    return { ...drawn, words: `FAULT ${drawn.words}` };
  }

  /** Draws what happens next; undefined when nothing can. */
  #next(): Move | undefined {
    const frozen = this.#gateway.live.filter(({ isFrozen }) => isFrozen);
    if (frozen.length > 0 && this.#random() < THAW) for (const process of frozen) process.isFrozen = false;
    const moves = naturalMoves(this.#gateway);
    if (moves.length > 0) return this.#drawn(moves);
    if (frozen.some(({ isFrozen }) => isFrozen)) {
      for (const process of frozen) process.isFrozen = false;
      return this.#next();
    }
    const [worker] = this.#gateway.liveWorkers();
    // Where a pass changes nothing, the next one would find the same.
    const { runs, jobs } = this.#gateway.ground;
    const state = `${runs.length} ${this.#drawnFaults} ${jobs.all().map(({ id, isListed }) => `${id} ${isListed}`)}`;
    if (!this.#gateway.plan.reconciles || state === this.#atPass || worker === undefined) return undefined;
    const pass = (): void => {
      this.#atPass = state;
      void worker.reconcile();
    };
    const words = () => `${worker.process.name}: its reconciler passes, since nothing else happens`;
    return { words, weight: 1, play: pass };
  }

  #drawn(moves: readonly Move[]): Move | undefined {
    let left = this.#random() * moves.reduce((sum, { weight }) => sum + weight, 0);
    return (
      moves.find(({ weight }) => {
        left -= weight;
        return left < 0;
      }) ?? moves.at(-1)
    );
  }

  /** Lets the product compute until all of it waits for the scheduler. Returns whether it does. */
  async #untilQuiet(): Promise<boolean> {
    for (let look = 0; look < LOOKS_MAX; look++) {
      await computed();
      if (this.#gateway.endRests()) continue;
      if (this.#gateway.isQuiet()) return true;
      if (look > LOOKS_MAX / 2) await pause(1);
    }
    this.violations.push({ invariant: 'I6', seen: 'a process waits for something else than its next effect' });
    return false;
  }
}
