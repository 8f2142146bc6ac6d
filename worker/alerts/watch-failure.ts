import type { Condition } from './incident.ts';

/** A part of the watch that failed. What it would have seen is neither there nor gone. */
export interface WatchFailure {
  /** What goes unnoticed: the cause of an incident, or a part in words. */
  what: string;
  error: unknown;
}

/** The cause of the incident that stands for all failures of the watch. */
export const WATCHER = 'watcher';

/** Takes each step by itself: what one of them throws is noted, and keeps no other from being taken. */
export function eachAlone<T>(
  all: Iterable<T>,
  nameOf: (one: T) => string,
  step: (one: T) => void,
  failed: WatchFailure[],
): void {
  for (const one of all) {
    try {
      step(one);
    } catch (error) {
      failed.push({ what: nameOf(one), error });
    }
  }
}

/** The incident of a watch of which parts fail; only the log has the errors, since they may quote data. */
export function watcherCondition(failed: readonly WatchFailure[]): Condition {
  const what = [...new Set(failed.map((failure) => failure.what))].sort().join(', ');
  const kinds = [...new Set(failed.map(({ error }) => (error instanceof Error ? error.name : 'unknown')))].join(', ');
  return {
    cause: WATCHER,
    level: what,
    text: `A part of the watch fails: "${what}" goes unnoticed (${kinds}).`,
  };
}
