import { chatState } from '../../shared/state/chat/chat.ts';
import { type Attempt, CANCELLED, type Conclusion, type Expected, type Written } from '../lane/attempt.ts';
import type { Concluding } from '../lane/verdict.ts';
import { removeTurn, TRIAL, trialLost } from '../recovery/trial.ts';
import { markFirst } from '../reply/outbox.ts';
import { MESSAGE_CHARS_MAX } from '../reply/split.ts';
import { isCutAnswer } from './cut-answer.ts';
import { inItsOwnWords } from './due-reminder.ts';
import type { TurnPorts } from './turn.ts';

/**
 * Stores how a message will end, once, before anything of it is delivered. `unmet`: it was cancelled after this attempt
 * had begun, and its user was promised that it will not be answered; the next attempt ends it as cancelled.
 *
 * If a message ends other than answered while its session is on trial, nothing was shown against the previous session.
 * Words that break off are no answer in that: of a message that may be to blame they are delivered, and not remembered.
 */
export async function storeConclusion(
  attempt: Attempt,
  conclusion: Conclusion,
  commands: Concluding['commands'],
): Promise<Exclude<Written, 'fenced'>> {
  const { keys, entry, chat, session } = attempt;
  const stored = [
    ['HSET', keys.turn(entry), 'conclusion', JSON.stringify(conclusion), 'attempts', 1] as const,
    markFirst(attempt),
    ...commands,
  ];
  const uncancelled: Expected[] = attempt.field(CANCELLED) === undefined ? [[keys.turn(entry), CANCELLED, '']] : [];
  const isAnswered = conclusion.outcome === 'answered' && !isCutAnswer(conclusion);
  const isGuilty = attempt.isBlamed && !isAnswered;
  if (attempt.trial === undefined || isAnswered) {
    // Otherwise the next message would be refused because of this one, and the innocent history would be set aside.
    return attempt.write('conclusion', [...stored, ...(isGuilty ? removeTurn(attempt) : [])], uncancelled);
  }
  const back = await attempt.write(
    'conclusion',
    [...stored, ...removeTurn(attempt), ...trialLost(attempt)],
    [chatState(keys, chat).isIn(session), [keys.turn(entry), TRIAL, attempt.field(TRIAL) ?? ''], ...uncancelled],
  );
  // The chat was bound to another session in the meantime, or this attempt has won the trial: that binding stands.
  return back === 'unmet' ? attempt.write('conclusion', stored, uncancelled) : back;
}

/** Whether the stored conclusion is this one: its reply was lost, and the command was repeated. */
export async function isStored({ lane }: TurnPorts, { entry }: Attempt, conclusion: Conclusion): Promise<boolean> {
  return (await lane.conclusionOf(entry)) === JSON.stringify(conclusion);
}

/**
 * A message that ends without an answer gets one message. It says how the message ended, and what is so now of the
 * conversation; an answer carries its notices already. A reminder that gets no answer is given in its own words first.
 * Under the notice of a failure stands a button that tries the message again.
 */
export function withNotices(attempt: Attempt, conclusion: Conclusion): Conclusion {
  if (conclusion.outcome === 'answered') return conclusion;
  const told = inOneMessage(inItsOwnWords(attempt, conclusion), conclusion, attempt.notices);
  if (conclusion.outcome !== 'failed' || conclusion.parts.length === 0) return told;
  return { ...told, buttons: [[{ text: attempt.texts.retryButton, command: `/retry ${attempt.entry}` }]] };
}

/** A conclusion with plain texts before and after its own; one message where they fit into one. */
function inOneMessage(before: readonly string[], conclusion: Conclusion, after: readonly string[]): Conclusion {
  if (before.length + after.length === 0) return conclusion;
  const { parts, layout } = conclusion;
  const whole = [...before, ...parts, ...after].join('\n\n');
  if (layout === undefined && whole.length <= MESSAGE_CHARS_MAX) return { ...conclusion, parts: [whole] };
  const nulls = (texts: readonly string[]) => texts.map(() => null);
  return {
    ...conclusion,
    parts: [...before, ...parts, ...after],
    ...(layout && { layout: [...nulls(before), ...layout, ...nulls(after)] }),
  };
}
