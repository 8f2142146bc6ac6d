/** Runs a recovery under a deadline of its own; the turn's time stands still meanwhile, since the turn ends with it. */
export type Recovering = <T>(
  leftMs: number,
  work: (signal: AbortSignal, deadline: AbortSignal) => Promise<T>,
) => Promise<T>;

/** The time that an attempt has. */
export interface TurnTime {
  /** Aborted when the attempt must stop. */
  readonly signal: AbortSignal;
  readonly recovering: Recovering;
}
