/** What a process does outside of its own memory. */
export interface Effect<T = unknown> {
  readonly kind: 'redis' | 'queue' | 'telegram' | 'model' | 'tool' | 'lease';
  /** What it is, in words that are the same in every run of a schedule. */
  readonly words: string;
  /** Does it, and returns the reply. Applied twice where the first reply was lost and the command is sent again. */
  apply(): T | Promise<T>;
  /** Whether it can happen yet: a blocking read waits for news. */
  isReady?(): boolean;
  /** The reply that says that nobody knows whether it happened; absent where there is none. */
  unknown?(): unknown;
  /** The reply that says that it certainly did not happen; absent where there is none. */
  refused?(): unknown;
}

/** An effect that waits for the scheduler. */
export interface Waiting {
  readonly effect: Effect;
  /** It was applied already, and its reply was lost. */
  wasCut: boolean;
  reply(value: unknown): void;
  fail(error: Error): void;
}

/** Thrown into what a killed process was doing, so that its memory is freed: no effect of it gets out any more. */
export class KilledError extends Error {
  // One of those that the product takes for a connection that is gone.
  override readonly name = 'AbortError';
  constructor(name: string) {
    super(`${name} was killed`);
  }
}
