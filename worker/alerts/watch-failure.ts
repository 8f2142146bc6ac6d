import { refusalOf } from '../../shared/redis/server-state.ts';

/** Names of errors that come from bad data or from a bug. */
const DATA_ERRORS: ReadonlySet<string> = new Set(['ReplyError', 'SyntaxError', 'TypeError', 'RangeError']);
/** Replies of a working Redis to a bad command, or to bad data. */
const REPLY_TO_BAD_COMMAND = /\b(?:WRONGTYPE|ERR|NOGROUP|BUSYKEY)\b/;

/** Whether an error comes from bad data or a bug, while Redis itself works. */
export function isAboutData(error: unknown): boolean {
  if (!(error instanceof Error) || !DATA_ERRORS.has(error.name)) return false;
  return refusalOf(error) === undefined && (error.name !== 'ReplyError' || REPLY_TO_BAD_COMMAND.test(error.message));
}

/** A failed part of the watch. While it fails, the incidents that it checks neither open nor end. */
export interface WatchFailure {
  /** The cause that goes unnoticed, or the name of the failed part. */
  what: string;
  error: unknown;
}

/** Runs the step for each item. An item that throws is added to `failures`; the others still run. */
export function runEach<T>(
  all: Iterable<T>,
  nameOf: (one: T) => string,
  step: (one: T) => void,
  failures: WatchFailure[],
): void {
  for (const one of all) {
    try {
      step(one);
    } catch (error) {
      failures.push({ what: nameOf(one), error });
    }
  }
}

/**
 * Awaits several reads. Bad data in one part makes only that part's property throw when it is used. Rejects when Redis
 * cannot be reached.
 */
export async function readParts<T extends object>(parts: { [Part in keyof T]: Promise<T[Part]> }): Promise<T> {
  const names = Object.keys(parts) as (keyof T)[];
  const results = await Promise.allSettled(names.map((name) => parts[name]));
  const errors = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  const redisError = errors.find((error) => !isAboutData(error));
  if (redisError !== undefined) throw redisError;
  const get = (at: number) => () => {
    const part = results[at];
    if (part?.status === 'rejected') throw part.reason;
    return part?.value;
  };
  const properties = names.map((name, at) => [name, { enumerable: true, get: get(at) }]);
  return Object.defineProperties({}, Object.fromEntries(properties)) as T;
}
