import { refusalOf } from '../../shared/redis/server-state.ts';

/** Names of errors that may come from bad data or a bug, rather than from an unreachable Redis. */
const DATA_ERRORS: ReadonlySet<string> = new Set(['ReplyError', 'SyntaxError', 'TypeError', 'RangeError']);
/** Replies of a working Redis to a bad command, or to bad data. */
const REPLY_TO_BAD_COMMAND = /\b(?:WRONGTYPE|ERR|NOGROUP|BUSYKEY)\b/;

/** Whether an error comes from bad data or a bug, while Redis itself works. */
export function isAboutData(error: unknown): boolean {
  if (!(error instanceof Error) || !DATA_ERRORS.has(error.name)) return false;
  return refusalOf(error) === undefined && (error.name !== 'ReplyError' || REPLY_TO_BAD_COMMAND.test(error.message));
}

/** A failed part of the watch. While the rule of a cause fails, no check opens or ends incidents of this cause. */
export interface WatchFailure {
  /** The cause whose rule fails, or the name of another failed part. */
  what: string;
  error: unknown;
}

/** Runs a step for each item. If the step throws, adds a failure to `failures` and goes on with the next item. */
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
 * Awaits several reads. If bad data or a bug makes a read fail, only that read's property of the result throws, and only when
 * it is used. Rejects with any other error, e.g. when Redis cannot be reached.
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
