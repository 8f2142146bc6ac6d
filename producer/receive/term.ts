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

/** A term that is extended and ended from outside. */
export class RunningTerm implements Term {
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

  /** We give up the lease ourselves. */
  retire(): void {
    clearTimeout(this.#timer);
    this.#lost.abort();
  }
}
