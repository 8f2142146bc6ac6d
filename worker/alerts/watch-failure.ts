import { refusalOf } from '../../shared/redis/server-state.ts';

/** The errors of bad data, or of a fault of ours. */
const OURS: ReadonlySet<string> = new Set(['ReplyError', 'SyntaxError', 'TypeError', 'RangeError']);
const REDIS_WELL = /\b(?:WRONGTYPE|ERR|NOGROUP|BUSYKEY)\b/;

/** Whether an error is about data, or a fault of ours, while Redis itself is well. */
export function isAboutData(error: unknown): boolean {
  if (!(error instanceof Error) || !OURS.has(error.name)) return false;
  return refusalOf(error) === undefined && (error.name !== 'ReplyError' || REDIS_WELL.test(error.message));
}

/** A part of the watch that failed. The conditions that it checks are neither opened nor ended meanwhile. */
export interface WatchFailure {
  /** What goes unnoticed: the cause of an incident, or a part in words. */
  what: string;
  error: unknown;
}

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

/**
 * Reads parts of which one that cannot be read blinds nobody for the others: it throws where it is used. Rejects when
 * Redis cannot be reached.
 */
export async function standingAlone<T extends object>(parts: { [Part in keyof T]: Promise<T[Part]> }): Promise<T> {
  const names = Object.keys(parts) as (keyof T)[];
  const read = await Promise.allSettled(names.map((name) => parts[name]));
  const errors = read.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  const lost = errors.find((error) => !isAboutData(error));
  if (lost !== undefined) throw lost;
  const get = (at: number) => () => {
    const part = read[at];
    if (part?.status === 'rejected') throw part.reason;
    return part?.value;
  };
  const properties = names.map((name, at) => [name, { enumerable: true, get: get(at) }]);
  return Object.defineProperties({}, Object.fromEntries(properties)) as T;
}
