import { type Effect, KilledError, type Waiting } from './effect.ts';

/** How often a process gets its turn, compared with the others. */
export const SPEEDS = [0.05, 0.3, 1, 1, 3] as const;

/**
 * One process of the gateway, as the scheduler sees it. Its code is the product's; each of its effects waits here until
 * the scheduler lets it happen.
 */
export class Process {
  readonly waiting: Waiting[] = [];
  readonly name: string;
  readonly speed: number;
  /** Whether its commands outlive a connection: they are sent again, instead of failing. */
  readonly isPatient: boolean;
  isDead = false;
  /** It stands still, and its memory stays. */
  isFrozen = false;
  /** It takes no new jobs, and ends when those that run are over. */
  isEnding = false;
  /** What runs in it: each of these waits for an effect, unless it computes just now. */
  strands = 0;
  readonly #ends: (() => void)[] = [];

  constructor(name: string, speed: number, isPatient: boolean) {
    this.name = name;
    this.speed = speed;
    this.isPatient = isPatient;
  }

  /** Waits for the scheduler, and resolves to the reply. */
  effect<T>(effect: Effect<T>): Promise<T> {
    if (this.isDead) return Promise.reject(new KilledError(this.name));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.waiting.push({ effect, wasCut: false, reply: (value) => resolve(value as T), fail: reject });
    return promise;
  }

  /** Whether all that runs in it waits for the scheduler. */
  isQuiet(): boolean {
    return this.isDead || this.waiting.length >= this.strands;
  }

  /** Runs something in it, and counts it while it runs. */
  async run(work: () => Promise<void>): Promise<void> {
    this.strands += 1;
    try {
      await work();
    } finally {
      this.strands -= 1;
    }
  }

  /** Called when it is killed. */
  onEnd(end: () => void): void {
    this.#ends.push(end);
  }

  /** Ends it at once, whatever it was doing. */
  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    for (const waiting of this.waiting.splice(0)) waiting.fail(new KilledError(this.name));
    for (const end of this.#ends) end();
  }
}
