import type { Alert } from '../../shared/flow/alert.ts';
import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { undeliverableAlert, undeliveredAlert } from '../alerts/causes/telegram.ts';
import type { Env } from '../env.ts';
import type { Delivered } from '../lane/verdict.ts';

/** The delay before the second try of a refused conclusion, in multiples of `RETRY_MS`. */
const SECOND_LOOK = 5;
/** The most refused answers of a chat that are replayed by themselves; operators can replay older ones by hand. */
const COMING_BACK_MAX = 20;

/**
 * Handles the refusal of a conclusion for good. A single refusal may be Telegram's mistake: the first one only schedules a
 * second try, unless Telegram already said that the bot is blocked. After a second refusal of the same kind the conclusion
 * is given up, and an answer goes into a dead letter, which is replayed once the chat takes another message. The user gets
 * a notice if the replay is refused too, or if Telegram refuses only this answer.
 *
 * Contract: throws `FencedError`, or what Redis throws. If the process dies after telling the user, the user is told twice.
 */
export async function afterRefusal(
  turn: Turn<Env>,
  conclusion: Conclusion,
  failure: TelegramFailure,
  to: Destination,
): Promise<Delivered> {
  const { keys, chat, entry, goneMs, refusedAnswers } = turn;
  const { kind } = failure;
  const isAgreed = turn.waits.refusals.includes(kind) || (kind === 'gone' && goneMs > 0);
  if (!isAgreed) {
    await turn.write('', [turn.waits.noteRefusal(kind)]);
    const delayMs = turn.env.settings.RETRY_MS * SECOND_LOOK;
    return { kind: 'later', delayMs, reason: `telegram_${kind}`, isFree: true };
  }
  const isLast = turn.reply.hasComeBack || !isKept(conclusion, 'undeliverable');
  const isTold = await tellUndelivered(turn, conclusion, kind, to);
  return undelivered(turn, conclusion, {
    outcome: 'undeliverable',
    reason: `telegram_${kind}`,
    alert: undeliverableAlert(turn, `${kind}: ${failure.description}`),
    commands: [
      ...((kind === 'gone' && (await turn.env.selfEntered.get(turn.kind)?.chatGone(turn))) || []),
      ...(isLast || isTold
        ? []
        : [
            turn.reply.comeBack(),
            chatState(keys, chat).noteRefusedAnswers([...refusedAnswers, entry].slice(-COMING_BACK_MAX)),
          ]),
    ],
  });
}

/**
 * Tells the user that an answer was given up, where the chat may take that: only this answer is refused, or another message
 * was confirmed since it was first refused. Returns whether the user was told.
 */
async function tellUndelivered(
  turn: Turn<Env>,
  conclusion: Conclusion,
  kind: TelegramFailure['kind'],
  to: Destination,
): Promise<boolean> {
  const { telegram } = turn.env;
  const mayArrive = kind === 'rejected' || turn.reply.hasComeBack;
  if (!mayArrive || !isKept(conclusion, 'undeliverable')) return false;
  return (await telegram.sendMessage(to, turn.texts.undelivered)).ok;
}

/**
 * Puts back the answers that their chat refused, once the chat has taken another message. If the process dies in between, the
 * next delivery does it; a letter that is gone changes nothing.
 */
export async function bringBackUndelivered(turn: Turn<Env>): Promise<void> {
  const { deadLetters } = turn.env;
  const { keys, chat, refusedAnswers } = turn;
  for (const entry of refusedAnswers) {
    const letter = await deadLetters.newest(chat, entry);
    if (letter !== undefined) await deadLetters.replay(letter);
  }
  await turn.write('', [chatState(keys, chat).forgetRefusedAnswers()]);
}

/** Why a conclusion is not delivered. */
interface Undeliverable {
  /** `undeliverable`: Telegram itself says never. `failed`: nobody says so, but it cannot wait any longer. */
  outcome: 'undeliverable' | 'failed';
  reason: string;
  alert: Alert;
  commands?: readonly Change[];
}

/**
 * The end of a message whose conclusion is not delivered: only the operator can be notified. An answer is kept with its
 * dead letter, so that it can be delivered later without asking the model again.
 */
export async function undelivered(
  turn: Turn,
  conclusion: Conclusion,
  { outcome, reason, alert, commands = [] }: Undeliverable,
): Promise<Delivered> {
  await turn.write(outcome, [queuedAlert(turn.keys, alert), ...commands]);
  return {
    kind: 'settle',
    conclusion: { outcome, reason, parts: [] },
    ...(isKept(conclusion, outcome) && { keepsAnswer: true }),
  };
}

/** The end of a message whose conclusion could not be delivered because that threw on every try. */
export function neverDelivered(turn: Turn, conclusion: Conclusion, reason: string, detail: string): Promise<Delivered> {
  const alert = undeliveredAlert(turn, `${reason}: ${detail}`);
  return undelivered(turn, conclusion, { outcome: 'failed', reason, alert });
}

/**
 * Whether the dead letter keeps the reply. The notice of a failed or refused message is not kept: a replay asks again.
 * If Telegram refuses for good, only an answer is kept. If the delivery failed otherwise, the reply to a command is kept
 * too, so that a replay does not carry out the command twice.
 */
function isKept({ outcome }: Conclusion, end: Undeliverable['outcome']): boolean {
  if (end === 'undeliverable') return outcome === 'answered';
  return outcome !== 'failed' && outcome !== 'refused';
}
