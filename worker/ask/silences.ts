import type { Attempt } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import { type Ending, failed } from '../lane/verdict.ts';

/** A call that fell silent is made once more; after that, what was said is all that there will be. */
export const SILENCES_MAX = 2;

/** Notes how many calls of a message fell silent. */
export async function noteSilences({ turn, write }: Attempt, silences: number): Promise<void> {
  await write('', [turn.fallSilent(silences)]);
}

/** The end of a message whose calls fell silent too often. */
export function fallenSilent(attempt: Attempt): Ending {
  return failed('fell_silent', attempt.texts.unavailable, 'the model fell silent twice');
}

/** The end of a message for which no more calls are made: they fell silent, or its turn has taken all of its time. */
export function outOfTime(attempt: Attempt, { turnMaxMs }: Pick<Settings, 'turnMaxMs'>): Ending | undefined {
  if (attempt.silences >= SILENCES_MAX) return fallenSilent(attempt);
  const isOver = attempt.turn.spentMs >= turnMaxMs;
  return isOver ? failed('turn_too_long', attempt.texts.unavailable, 'its turn took too long') : undefined;
}
