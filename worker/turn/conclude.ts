import type { Change, Expected, Written } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { changesToRecord, type PartialAnswer, partialAnswerOf, partialText } from '../ask/words.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { Ending, Verdict } from '../lane/verdict.ts';
import { isOverBudget } from '../model/errors/failure.ts';
import { removeTurn, trialLost } from '../recovery/fresh-session.ts';
import { healed } from '../reply/format/heal.ts';
import { MESSAGE_CHARS_MAX } from '../reply/format/layout.ts';
import { planned } from '../reply/plan.ts';

/**
 * Stores how a message ends, before anything of it is delivered, so that two answers are never sent. Returns the
 * conclusion to deliver; or a verdict if the message was cancelled meanwhile, or another attempt stored a different
 * end.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function concludeTurn(
  turn: Turn<Env>,
  ending: Ending,
): Promise<{ kind: 'stored'; conclusion: Conclusion } | Exclude<Verdict, Ending>> {
  const { env } = turn;
  const refusals = ending.conclusion.parts.length === 0 ? 0 : turn.laneRefusals;
  let conclusion = withRefusals(turn, withNotices(turn, ending.conclusion), refusals);
  for (const feature of env.features)
    conclusion = (await feature.beforeConclude?.(turn, conclusion, ending)) ?? conclusion;
  const report = refusals === 0 ? [] : [chatState(turn.keys, turn.chat).reportLaneRefusals(refusals)];
  const stored = await storeConclusion(turn, conclusion, { ...ending, changes: [...report, ...ending.changes] });
  if (stored === 'unmet') {
    const { changes = [], events = [] } = ending.ifCancelled ?? {};
    await commit(turn, { step: 'cancelled meanwhile', changes, events });
    return { kind: 'hand back' };
  }
  if (stored === 'repeated') return { kind: 'again' };
  env.reach('answer stored');
  return { kind: 'stored', conclusion };
}

/**
 * Stores the conclusion, once. `unmet`: the message was cancelled after this attempt had begun, and its user was
 * promised that it will not be answered; the next attempt ends it as cancelled.
 *
 * While a fresh session is on trial, an answer moves the chat to it. Any other end leaves the chat in the session before,
 * without the message.
 */
async function storeConclusion(
  turn: Turn<Env>,
  conclusion: Conclusion,
  { changes, events, keepsInConversation = false }: Pick<Ending, 'changes' | 'events' | 'keepsInConversation'>,
): Promise<Exclude<Written, 'fenced'>> {
  const { keys, chat } = turn;
  // An answer in a chat that the bot is not part of is edited in, not sent.
  const marks = turn.isElsewhere ? [] : [turn.reply.mark(0, 'sending')];
  const stored = [turn.conclude(conclusion), ...marks, ...changes];
  const uncancelled: Expected[] = turn.cancelledBy === undefined ? [turn.expectNotCancelled()] : [];
  const store = (more: readonly Change[], expected: readonly Expected[]) =>
    commit(turn, {
      step: 'conclusion',
      changes: [...stored, ...more],
      expected: [...expected, ...uncancelled],
      events,
    });
  const isAnswered = conclusion.outcome === 'answered';
  const { trial } = turn;
  // A message that may be the cause leaves the conversation, or the next message would be refused because of it.
  if (trial === undefined)
    return store(turn.isSuspect && !isAnswered && !keepsInConversation ? removeTurn(turn) : [], []);
  if (!isAnswered) return store([...removeTurn(turn), ...trialLost(turn)], []);
  const moved = await store([chatState(keys, chat).moveTo(trial.in)], [chatState(keys, chat).expectSession(trial.of)]);
  // The chat was bound to another session in the meantime: that binding stands.
  return moved === 'unmet' ? store([], []) : moved;
}

/**
 * Adds the turn's notices to any end but an answer, which has them already, and to a failure a button that tries again.
 * An unanswered reminder is sent in its own words first.
 */
function withNotices(turn: Turn<Env>, conclusion: Conclusion): Conclusion {
  // The conclusion of the message into which this one was merged carries the notices.
  if (conclusion.outcome === 'answered' || conclusion.into !== undefined) return conclusion;
  const plainTexts = turn.env.selfEntered.get(turn.kind)?.plainTexts(turn, conclusion) ?? [];
  const withTexts = inOneMessage(plainTexts, conclusion, turn.notices);
  if (conclusion.outcome !== 'failed' || conclusion.parts.length === 0 || turn.isElsewhere) return withTexts;
  return { ...withTexts, buttons: [[{ text: turn.texts.retryButton, command: `/retry ${turn.entry}` }]] };
}

/** A reply that also says how many messages of the chat were refused because its lane was full. */
function withRefusals({ texts }: Turn, conclusion: Conclusion, count: number): Conclusion {
  return count === 0 ? conclusion : inOneMessage([], conclusion, [texts.laneFull(count)]);
}

/** A conclusion with plain texts before and after its own; one message where they fit into one. */
export function inOneMessage(before: readonly string[], conclusion: Conclusion, after: readonly string[]): Conclusion {
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

/**
 * Adds the partial answer to the notice of a message that failed or ran out of budget, marked as cut, and records it,
 * so that "go on" goes on. Any other verdict stays as it is.
 */
export async function withPartialAnswer(turn: Turn<Env>, decided: Verdict, own?: PartialAnswer): Promise<Verdict> {
  const { settings, files } = turn.env;
  const answer = own ?? partialAnswerOf(turn);
  const partial = partialText(answer);
  if (partial === '' || decided.kind !== 'conclude') return decided;
  const { outcome, reason, parts } = decided.conclusion;
  if (outcome !== 'failed' && !(outcome === 'refused' && isOverBudget(reason))) return decided;
  const text = [healed(partial), turn.texts.brokenOff, ...parts].join('\n\n');
  const shown = planned(turn.readingNotices, text, { rich: settings.TELEGRAM_RICH }, await files.of(turn));
  const changes = [...changesToRecord(turn, answer), ...decided.changes];
  return { ...decided, conclusion: { ...decided.conclusion, ...shown }, changes };
}
