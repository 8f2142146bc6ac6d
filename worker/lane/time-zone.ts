import type { Attempt } from './attempt.ts';
import type { Settings } from './settings.ts';

/** The zone of a chat's dates and times: the one that its people chose, or else the operator's. */
export function timeZoneOf({ choice }: Pick<Attempt, 'choice'>, { timeZone }: Pick<Settings, 'timeZone'>): string {
  return readTimeZone(choice('timezone') ?? '') ?? timeZone;
}

/**
 * A zone as it is spelled, by its name in any case; undefined where this Node knows none of that name. An offset such
 * as +08:00 follows no changes of the clocks, and is none. Pure.
 */
export function readTimeZone(name: string): string | undefined {
  if (!/^[a-z][\w+/-]{0,63}$/i.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
