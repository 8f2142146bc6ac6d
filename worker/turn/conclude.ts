import type { Change, Expected, Written } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { changesToRecord, type PartialAnswer, partialAnswerOf, partialText } from '../ask/words.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { Ending, Verdict } from '../lane/verdict.ts';
import { isOverBudget } from '../model/errors/failure.ts';
import { loseTrial, removeTurn } from '../recovery/fresh-session.ts';
import { healMarkdown } from '../reply/format/heal.ts';
import { MESSAGE_CHARS_MAX } from '../reply/format/layout.ts';
import { planReply } from '../reply/plan.ts';

/**
 * Stores the conclusion of a message before any part is delivered, so that a message never gets two different answers. Returns
 * the conclusion to deliver, or a verdict if the message was cancelled meanwhile or another attempt has stored a conclusion.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function concludeTurn(
  turn: Turn<Env>,
  ending: Ending,
): Promise<{ kind: 'stored'; conclusion: Conclusion } | Exclude<Verdict, Ending>> {
  const refusals = ending.conclusion.parts.length === 0 ? 0 : turn.laneRefusals;
  let conclusion = withRefusals(turn, withNotices(turn, ending.conclusion), refusals);
  for (const feature of turn.env.features)
    conclusion = (await feature.beforeConclude?.(turn, conclusion, ending)) ?? conclusion;
  const report = refusals === 0 ? [] : [chatState(turn.keys, turn.chat).reportLaneRefusals(refusals)];
  const result = await storeConclusion(turn, conclusion, { ...ending, changes: [...report, ...ending.changes] });
  if (result === 'unmet') {
    const { changes = [], events = [] } = ending.ifCancelled ?? {};
    await commit(turn, { step: 'cancelled meanwhile', changes, events });
    return { kind: 'hand back' };
  }
  if (result === 'repeated') return { kind: 'again' };
  turn.env.reach('answer stored');
  return { kind: 'stored', conclusion };
}

/**
 * Stores the conclusion, unless an earlier attempt did (`repeated`). Returns `unmet` if the message was cancelled after this
 * attempt had begun: the user was promised that no answer would come, and the next attempt ends the message as cancelled.
 *
 * If the message is on trial in a fresh session, an answer moves the chat there. After any other outcome the chat stays in its
 * previous session, which then hides the message.
 */
async function storeConclusion(
  turn: Turn<Env>,
  conclusion: Conclusion,
  { changes, events, keepsInConversation = false }: Pick<Ending, 'changes' | 'events' | 'keepsInConversation'>,
): Promise<Exclude<Written, 'fenced'>> {
  const { keys, chat, trial } = turn;
  // A summons is answered by editing one message. The edit may be repeated, so the delivery needs no mark.
  const marks = turn.isElsewhere ? [] : [turn.reply.mark(0, 'sending')];
  const commonChanges = [turn.conclude(conclusion), ...marks, ...changes];
  const commonExpected: Expected[] = turn.cancelledBy === undefined ? [turn.expectNotCancelled()] : [];
  const store = (more: readonly Change[], expected: readonly Expected[]) =>
    commit(turn, {
      step: 'conclusion',
      changes: [...commonChanges, ...more],
      expected: [...expected, ...commonExpected],
      events,
    });
  const isAnswered = conclusion.outcome === 'answered';
  // Hide a message that may have caused a refusal, because otherwise it may cause the refusal of the next request, too.
  if (trial === undefined)
    return store(turn.isSuspect && !isAnswered && !keepsInConversation ? removeTurn(turn) : [], []);
  if (!isAnswered) return store([...removeTurn(turn), ...loseTrial(turn)], []);
  const result = await store([chatState(keys, chat).moveTo(trial.in)], [chatState(keys, chat).expectSession(trial.of)]);
  // If the chat has moved to another session meanwhile, let it stay there.
  return result === 'unmet' ? store([], []) : result;
}

/**
 * Adds the turn's notices to a conclusion without an answer. Puts the text of an unanswered reminder first. An answer has its
 * notices already.
 */
function withNotices(turn: Turn<Env>, conclusion: Conclusion): Conclusion {
  // The conclusion of the message into which this one was merged carries the notices.
  if (conclusion.outcome === 'answered' || conclusion.into !== undefined) return conclusion;
  const plainTexts = turn.env.selfEntered.get(turn.kind)?.plainTexts(turn, conclusion) ?? [];
  return surroundWithTexts(plainTexts, conclusion, turn.notices);
}

function withRefusals({ texts }: Turn, conclusion: Conclusion, count: number): Conclusion {
  return count === 0 ? conclusion : surroundWithTexts([], conclusion, [texts.laneFull(count)]);
}

/** A conclusion with plain texts before and after its parts. Joins all of them into one message if all are plain and fit. */
export function surroundWithTexts(
  textsBefore: readonly string[],
  conclusion: Conclusion,
  textsAfter: readonly string[],
): Conclusion {
  if (textsBefore.length + textsAfter.length === 0) return conclusion;
  const { parts, layout } = conclusion;
  const whole = [...textsBefore, ...parts, ...textsAfter].join('\n\n');
  if (layout === undefined && whole.length <= MESSAGE_CHARS_MAX) return { ...conclusion, parts: [whole] };
  const nulls = (texts: readonly string[]) => texts.map(() => null);
  return {
    ...conclusion,
    parts: [...textsBefore, ...parts, ...textsAfter],
    ...(layout && { layout: [...nulls(textsBefore), ...layout, ...nulls(textsAfter)] }),
  };
}

/**
 * If a message failed, or was refused because a budget is used up, puts the partial answer above the notice, with a line that
 * says that the answer broke off. Records the partial answer in the session, so that the model can continue. Returns any other
 * verdict unchanged.
 */
export async function withPartialAnswer(
  turn: Turn<Env>,
  verdict: Verdict,
  answer: PartialAnswer = partialAnswerOf(turn),
): Promise<Verdict> {
  const { settings, files } = turn.env;
  const partial = partialText(answer);
  if (partial === '' || verdict.kind !== 'conclude') return verdict;
  const { outcome, reason, parts } = verdict.conclusion;
  if (outcome !== 'failed' && !(outcome === 'refused' && isOverBudget(reason))) return verdict;
  const text = [healMarkdown(partial), turn.texts.brokenOff, ...parts].join('\n\n');
  const reply = planReply(turn.readingNotices, text, { rich: settings.TELEGRAM_RICH }, await files.of(turn));
  const changes = [...changesToRecord(turn, answer), ...verdict.changes];
  return { ...verdict, conclusion: { ...verdict.conclusion, ...reply }, changes };
}
