import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import type { Attempt, Conclusion, Expected, Written } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import type { Ending, Verdict } from '../lane/verdict.ts';
import { removeTurn, trialLost } from '../recovery/stage-2.ts';
import { MESSAGE_CHARS_MAX } from '../reply/split.ts';
import { isCutAnswer } from './cut-answer.ts';
import { inItsOwnWords } from './due-reminder.ts';
import { withSetForLater } from './set-for-later.ts';
import type { TurnPorts } from './turn.ts';

/**
 * Decides for good how a message ends, before anything of it is delivered. Returns the conclusion to deliver, or the
 * verdict where it was cancelled meanwhile, or another attempt stored a different end: two answers are never sent.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function concludeTurn(
  ports: TurnPorts,
  attempt: Attempt,
  ending: Ending,
): Promise<{ kind: 'stored'; conclusion: Conclusion } | Exclude<Verdict, Ending>> {
  const { observability, endpoint } = ports.ask;
  const conclusion = await withSetForLater(ports, attempt, withNotices(attempt, ending.conclusion), ending);
  const stored = await storeConclusion(ports, attempt, conclusion, ending);
  if (stored === 'unmet') {
    const { changes = [], events = [] } = ending.ifCancelled ?? {};
    await commit(observability, attempt, { step: 'cancelled meanwhile', changes, events });
    return { kind: 'hand back' };
  }
  if (stored === 'repeated' && !(await isStored(ports, attempt, conclusion))) return { kind: 'again' };
  await endpoint.storm.ended(attempt, conclusion.outcome === 'answered');
  observability.reach('answer stored');
  return { kind: 'stored', conclusion };
}

/**
 * Stores how a message will end, once, before anything of it is delivered. `unmet`: it was cancelled after this attempt
 * had begun, and its user was promised that it will not be answered; the next attempt ends it as cancelled.
 *
 * If a message ends other than answered while its session is on trial, nothing was shown against the previous session.
 * Words that break off are no answer in that: of a message that may be to blame they are delivered, and not remembered.
 */
async function storeConclusion(
  { ask: { observability } }: Pick<TurnPorts, 'ask'>,
  attempt: Attempt,
  conclusion: Conclusion,
  { changes, events }: Pick<Ending, 'changes' | 'events'>,
): Promise<Exclude<Written, 'fenced'>> {
  const { keys, chat, session, turn } = attempt;
  const stored = [turn.conclude(conclusion), turn.reply.mark(0, 'sending'), ...changes];
  const uncancelled: Expected[] = turn.cancelledBy === undefined ? [turn.notCancelled()] : [];
  const store = (more: readonly Change[], expected: readonly Expected[]) =>
    commit(observability, attempt, {
      step: 'conclusion',
      changes: [...stored, ...more],
      expected: [...expected, ...uncancelled],
      events,
    });
  const isAnswered = conclusion.outcome === 'answered' && !isCutAnswer(conclusion);
  // Otherwise the next message would be refused because of this one, and the innocent history would be set aside.
  if (attempt.trial === undefined || isAnswered)
    return store(attempt.isBlamed && !isAnswered ? removeTurn(attempt) : [], []);
  const back = await store(
    [...removeTurn(attempt), ...trialLost(attempt)],
    [chatState(keys, chat).isIn(session), turn.isOnTrial()],
  );
  // The chat was bound to another session in the meantime, or this attempt has won the trial: that binding stands.
  return back === 'unmet' ? store([], []) : back;
}

/** Whether the stored conclusion is this one: its reply was lost, and the command was repeated. */
async function isStored({ lane }: TurnPorts, { entry }: Attempt, conclusion: Conclusion): Promise<boolean> {
  return (await lane.conclusionOf(entry)) === JSON.stringify(conclusion);
}

/**
 * A message that ends without an answer gets one message. It says how the message ended, and what is so now of the
 * conversation; an answer carries its notices already. A reminder that gets no answer is given in its own words first.
 * Under the notice of a failure stands a button that tries the message again.
 */
function withNotices(attempt: Attempt, conclusion: Conclusion): Conclusion {
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
