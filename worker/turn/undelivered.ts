import type { Alert } from '../../shared/flow/alert.ts';
import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import { undeliverableAlert, undeliveredAlert } from '../alerts/causes/telegram.ts';
import type { Env } from '../env.ts';
import type { AttemptResult } from '../lane/verdict.ts';

/** The delay before the second try of a refused conclusion, in multiples of `RETRY_MS`. */
const SECOND_TRY_DELAY_FACTOR = 5;
/** The most refused answers of a chat that are replayed by themselves; operators can replay older ones by hand. */
const AUTO_REPLAYS_MAX = 20;

/**
 * Handles a refusal that Telegram means for good. A single refusal may be a mistake: the first one only schedules a
 * second try, unless Telegram already said that the bot is blocked. After a second refusal of the same kind the
 * conclusion is given up, and an answer goes into a dead letter, which is replayed once the chat takes another message.
 * The user gets a notice if the replay is refused too, or if Telegram refuses only this answer.
 *
 * Contract: throws `FencedError`, or what Redis throws. If the process dies after the notice, the notice is sent twice.
 */
export async function afterRefusal(
  turn: Turn<Env>,
  conclusion: Conclusion,
  failure: TelegramFailure,
): Promise<AttemptResult> {
  const { keys, chat, entry, goneMs, refusedAnswers } = turn;
  const { kind } = failure;
  const isAgreed = turn.waits.refusals.includes(kind) || (kind === 'gone' && goneMs > 0);
  if (!isAgreed) {
    await turn.write('', [turn.waits.noteRefusal(kind)]);
    const delayMs = turn.env.settings.RETRY_MS * SECOND_TRY_DELAY_FACTOR;
    return { kind: 'later', delayMs, reason: `telegram_${kind}`, isUncounted: true };
  }
  const isLast = turn.reply.wasReplayed || !keepsReply(conclusion, 'undeliverable');
  const isNotified = await notifyUndelivered(turn, conclusion, kind);
  return endUndelivered(turn, conclusion, {
    outcome: 'undeliverable',
    reason: `telegram_${kind}`,
    alert: undeliverableAlert(turn, `${kind}: ${failure.description}`),
    commands: [
      ...((kind === 'gone' && (await turn.env.selfEntered.get(turn.kind)?.chatGone(turn))) || []),
      ...(isLast || isNotified
        ? []
        : [
            turn.reply.markForReplay(),
            chatState(keys, chat).noteRefusedAnswers([...refusedAnswers, entry].slice(-AUTO_REPLAYS_MAX)),
          ]),
    ],
  });
}

/** Notifies the user of a refused answer if the chat accepts other messages. Returns whether the user was notified. */
async function notifyUndelivered(
  turn: Turn<Env>,
  conclusion: Conclusion,
  kind: TelegramFailure['kind'],
): Promise<boolean> {
  const { telegram } = turn.env;
  const mayArrive = kind === 'rejected' || turn.reply.wasReplayed;
  if (!mayArrive || !keepsReply(conclusion, 'undeliverable')) return false;
  return (await telegram.sendMessage(turn.destination, turn.texts.undelivered)).ok;
}

/** Replays refused answers once their chat has taken another message. After a crash, the next delivery does it. */
export async function replayRefusedAnswers(turn: Turn<Env>): Promise<void> {
  const { deadLetters } = turn.env;
  const { keys, chat, refusedAnswers } = turn;
  for (const entry of refusedAnswers) {
    const letter = await deadLetters.newest(chat, entry);
    if (letter !== undefined) await deadLetters.replay(letter);
  }
  await turn.write('', [chatState(keys, chat).forgetRefusedAnswers()]);
}

interface Undeliverable {
  /** `undeliverable`: Telegram itself says never. `failed`: nobody says so, but it cannot wait any longer. */
  outcome: 'undeliverable' | 'failed';
  reason: string;
  alert: Alert;
  commands?: readonly Change[];
}

/**
 * The end of a message whose conclusion is not delivered: only the operator is notified. The dead letter keeps an
 * answer, so that it can be delivered later without asking the model again.
 */
export async function endUndelivered(
  turn: Turn,
  conclusion: Conclusion,
  { outcome, reason, alert, commands = [] }: Undeliverable,
): Promise<AttemptResult> {
  await turn.write(outcome, [queuedAlert(turn.keys, alert), ...commands]);
  return {
    kind: 'settle',
    conclusion: { outcome, reason, parts: [] },
    ...(keepsReply(conclusion, outcome) && { keepsAnswer: true }),
  };
}

/** The end of a message whose conclusion could not be delivered because that threw on every try. */
export function endUnsent(turn: Turn, stored: Conclusion, reason: string, detail: string): Promise<AttemptResult> {
  const alert = undeliveredAlert(turn, `${reason}: ${detail}`);
  return endUndelivered(turn, stored, { outcome: 'failed', reason, alert });
}

/**
 * Whether the dead letter keeps the reply. The notice of a failed or refused message is not kept: a replay asks again.
 * If Telegram refuses for good, only an answer is kept. If the delivery failed otherwise, the reply to a command is kept
 * too, so that a replay does not carry out the command twice.
 */
function keepsReply({ outcome }: Conclusion, end: Undeliverable['outcome']): boolean {
  if (end === 'undeliverable') return outcome === 'answered';
  return outcome !== 'failed' && outcome !== 'refused';
}
