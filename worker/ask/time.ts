/** Runs a recovery under its own deadline. The turn's clock stops meanwhile, since the turn ends with the recovery. */
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
