import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { Term } from './term.ts';

/**
 * The right to do what only one process may do at a time.
 *
 * Contract: of all processes that share a key, at most one holds the lease at any time, as long as their clocks run at
 * the same speed and Redis keeps its writes; a holder whose connection broke unnoticed may overlap with its successor
 * until it asks again. Without Redis no process holds it. `stop` releases it, so that another process can take it at
 * once.
 */
export interface Lease extends Service {
  /** Waits until we hold the lease; `undefined` when `signal` aborts first. */
  begin(signal: AbortSignal): Promise<Term | undefined>;
  /** Who holds it, as far as we know. */
  standing(): Standing;
}

/**
 * Who holds a lease. `name` is for people; `isGone`: that holder was seen to be gone, and the lease is not taken yet.
 */
export type Standing =
  | { readonly who: 'us' | 'nobody known' }
  | { readonly who: 'another'; readonly name: string; readonly isGone: boolean };

/** A holder whose lease was not confirmed asks again after this. */
export const UNCONFIRMED_MS = 1_000;

/**
 * Runs the work in each term, one after the other, until stopped; the work's signal also aborts when its term ends.
 * Work that throws is restarted, in the same term if that is still held.
 */
export function duringTerms(
  name: string,
  { lease, log }: { lease: Pick<Lease, 'begin'>; log: Logger },
  work: (term: Term, signal: AbortSignal) => Promise<void>,
): Service {
  return runLoop({
    name,
    async round(signal) {
      const term = await lease.begin(signal);
      if (term) await work(term, AbortSignal.any([signal, term.lost]));
      return 0;
    },
    retryMs: UNCONFIRMED_MS,
    onError: (error) =>
      log.error({ err: error, service: name }, 'what only one process does has failed; it begins anew'),
  });
}
