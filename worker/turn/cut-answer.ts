import { keptWords, recordCommands, spoken, type Words } from '../ask/words.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import type { ToldEvent, TurnEvent } from '../lane/events.ts';
import { conclude, type Verdict } from '../lane/verdict.ts';
import { isOverBudget } from '../model/errors/failure.ts';
import { healed } from '../reply/format/heal.ts';
import { planned } from '../reply/plan.ts';
import { inItsOwnWords } from './due-reminder.ts';
import type { TurnPorts } from './turn.ts';

/** They say that a message failed; of an endpoint in trouble the watchdog tells besides. */
const SAY_FAILED: ReadonlySet<TurnEvent['event']> = new Set<ToldEvent['event']>(['message.failed', 'message.gave-up']);

/**
 * What the model has said is never thrown away: where a message would end without an answer, the words so far are its
 * answer. They say that they break off, and are recorded, so that "go on" goes on. Any other decision stays as it is.
 */
export async function insteadOfNothing(
  { settings, files }: Pick<TurnPorts['ask'], 'settings' | 'files'>,
  attempt: Attempt,
  decided: Verdict,
  words: Words = keptWords(attempt),
): Promise<Verdict> {
  const said = spoken(words);
  if (said === '' || decided.kind !== 'conclude' || !isWithoutAnswer(decided.conclusion)) return decided;
  const { texts } = attempt;
  const { reason = 'unknown' } = decided.conclusion;
  const noted = await files.of(attempt);
  // The words may break off before what the reminder is about.
  const own = inItsOwnWords(attempt, decided.conclusion);
  const notices = [...attempt.notices, ...own, ...attempt.readingNotices];
  // Whoever asks to go on is to know when that can be.
  const why = isOverBudget(reason) ? decided.conclusion.parts : [];
  const text = [healed(said), texts.brokenOff, ...why].join('\n\n');
  return conclude(
    { outcome: 'answered', reason: `cut_${reason}`, ...planned(notices, text, { rich: settings.rich }, noted) },
    {
      changes: [...recordCommands(attempt, words), ...decided.changes],
      // That it failed is not so any more; what is wrong with the fixed parts or a budget, and what was removed, is.
      events: [
        ...decided.events.filter(({ event }) => !SAY_FAILED.has(event)),
        { event: 'answer.cut', reason, chars: said.length },
      ],
    },
  );
}

function isWithoutAnswer({ outcome, reason }: Conclusion): boolean {
  return outcome === 'failed' || (outcome === 'refused' && isOverBudget(reason));
}

/** Whether an answer is the words so far. */
export function isCutAnswer({ outcome, reason }: Conclusion): boolean {
  return outcome === 'answered' && reason !== undefined;
}
