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
  /** Notes that something arrived or ended: the attempt is not silent. */
  progress(): void;
  /** Whether the attempt was stopped because nothing arrived for too long. */
  isSilent(): boolean;
}
