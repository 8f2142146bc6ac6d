import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { keptWords, recordCommands, spoken, type Words } from '../ask/words.ts';
import { type Attempt, type Conclusion, type Expected, summonsOf, type Written } from '../lane/attempt.ts';
import { commit, type ToldEvent, type TurnEvent } from '../lane/events.ts';
import { conclude, type Ending, type Verdict } from '../lane/verdict.ts';
import { isOverBudget } from '../model/errors/failure.ts';
import { removeTurn, trialLost } from '../recovery/stage-2.ts';
import { healed } from '../reply/format/heal.ts';
import { planned } from '../reply/plan.ts';
import { MESSAGE_CHARS_MAX } from '../reply/split.ts';
import type { TurnPorts } from './ports.ts';
import { inItsOwnWords } from './reminder.ts';
import { withUndo } from './undo.ts';

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
  const { observability } = ports.ask;
  const conclusion = await withUndo(ports, attempt, withNotices(attempt, ending.conclusion), ending);
  const stored = await storeConclusion(ports, attempt, conclusion, ending);
  if (stored === 'unmet') {
    const { changes = [], events = [] } = ending.ifCancelled ?? {};
    await commit(observability, attempt, { step: 'cancelled meanwhile', changes, events });
    return { kind: 'hand back' };
  }
  if (stored === 'repeated') return { kind: 'again' };
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
  // An answer to a summons is not sent but edited in.
  const marks = summonsOf(attempt) ? [] : [turn.reply.mark(0, 'sending')];
  const stored = [turn.conclude(conclusion), ...marks, ...changes];
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

/**
 * A message that ends without an answer gets one message. It says how the message ended, and what is so now of the
 * conversation; an answer carries its notices already. A reminder that gets no answer is given in its own words first.
 * Under the notice of a failure stands a button that tries the message again.
 */
function withNotices(attempt: Attempt, conclusion: Conclusion): Conclusion {
  // Of a message that went into another one, that one speaks.
  if (conclusion.outcome === 'answered' || conclusion.into !== undefined) return conclusion;
  const told = inOneMessage(inItsOwnWords(attempt, conclusion), conclusion, attempt.notices);
  if (conclusion.outcome !== 'failed' || conclusion.parts.length === 0 || summonsOf(attempt)) return told;
  return { ...told, buttons: [[{ text: attempt.texts.retryButton, command: `/retry ${attempt.entry}` }]] };
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

/** They say that a message failed; of an endpoint in trouble the watchdog tells besides. */
const SAY_FAILED: ReadonlySet<TurnEvent['event']> = new Set<ToldEvent['event']>(['message.failed', 'message.gave-up']);

/**
 * The model's words are never thrown away: where a message would end without an answer, the words so far are its
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
