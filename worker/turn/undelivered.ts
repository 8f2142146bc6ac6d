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
/** How many refused answers of a chat the gateway replays by itself. An operator can replay older answers. */
const AUTO_REPLAYS_MAX = 20;

/**
 * Handles a refusal by Telegram. A single refusal may be a mistake: the first refusal of a kind only schedules a second try,
 * unless Telegram has already said that the bot is blocked. The second refusal of the same kind is final. An answer then goes
 * into a dead letter, which is replayed when the chat takes another message. If Telegram refused only this answer and not the
 * chat, or has also refused a replay, the user gets a notice instead of the replay.
 *
 * Contract: throws `FencedError`, or what Redis throws. If the process dies after the notice, the notice may be sent twice.
 */
export async function afterRefusal(
  turn: Turn<Env>,
  conclusion: Conclusion,
  failure: TelegramFailure,
): Promise<AttemptResult> {
  const { keys, chat, entry, goneMs, refusedAnswers } = turn;
  const { kind } = failure;
  const isFinal = turn.waits.refusals.includes(kind) || (kind === 'gone' && goneMs > 0);
  if (!isFinal) {
    await turn.write('', [turn.waits.noteRefusal(kind)]);
    const delayMs = turn.env.settings.RETRY_MS * SECOND_TRY_DELAY_FACTOR;
    return { kind: 'later', delayMs, reason: `telegram_${kind}`, isUncounted: true };
  }
  const cannotReplay = turn.reply.wasReplayed || !keepsReply(conclusion, 'undeliverable');
  const isNotified = await notifyUndelivered(turn, conclusion, failure);
  return endUndelivered(turn, conclusion, {
    outcome: 'undeliverable',
    reason: `telegram_${kind}`,
    alert: undeliverableAlert(turn, `${kind}: ${failure.description}`),
    changes: [
      ...((kind === 'gone' && (await turn.env.selfEntered.get(turn.kind)?.chatGone(turn))) || []),
      ...(cannotReplay || isNotified
        ? []
        : [
            turn.reply.markForReplay(),
            chatState(keys, chat).noteRefusedAnswers([...refusedAnswers, entry].slice(-AUTO_REPLAYS_MAX)),
          ]),
    ],
  });
}

/** Notifies the user of a refused answer if the chat may accept other messages. Returns whether the notice was sent. */
async function notifyUndelivered(turn: Turn<Env>, conclusion: Conclusion, failure: TelegramFailure): Promise<boolean> {
  const canArrive = failure.kind === 'rejected' || turn.reply.wasReplayed;
  if (!canArrive || !keepsReply(conclusion, 'undeliverable')) return false;
  return (await turn.env.telegram.sendMessage(turn.destination, turn.texts.undelivered)).ok;
}

/** Replays a chat's refused answers. Call after the chat has taken a message. After a crash, the next delivery replays them. */
export async function replayRefusedAnswers(turn: Turn<Env>): Promise<void> {
  const { keys, chat, refusedAnswers } = turn;
  for (const entry of refusedAnswers) {
    const letter = await turn.env.deadLetters.newest(chat, entry);
    if (letter !== undefined) await turn.env.deadLetters.replay(letter);
  }
  await turn.write('', [chatState(keys, chat).forgetRefusedAnswers()]);
}

interface Undeliverable {
  /** `undeliverable`: Telegram refused for good. `failed`: the answer cannot wait any longer, or its delivery threw. */
  outcome: 'undeliverable' | 'failed';
  reason: string;
  alert: Alert;
  changes?: readonly Change[] | undefined;
}

/**
 * Ends a message whose conclusion is not delivered, and alerts only the operator. The dead letter contains the reply if that is
 * worth a replay (`keepsReply`). A replay then does not ask the model again.
 */
export async function endUndelivered(
  turn: Turn,
  conclusion: Conclusion,
  { outcome, reason, alert, changes = [] }: Undeliverable,
): Promise<AttemptResult> {
  await turn.write(outcome, [queuedAlert(turn.keys, alert), ...changes]);
  return {
    kind: 'settle',
    conclusion: { outcome, reason, parts: [] },
    ...(keepsReply(conclusion, outcome) && { keepsAnswer: true }),
  };
}

/** Ends a message whose delivery threw in the last permitted attempt. */
export function endUnsent(turn: Turn, conclusion: Conclusion, reason: string, detail: string): Promise<AttemptResult> {
  const alert = undeliveredAlert(turn, `${reason}: ${detail}`);
  return endUndelivered(turn, conclusion, { outcome: 'failed', reason, alert });
}

/**
 * Whether the dead letter contains the reply. After a final refusal by Telegram, it does so only for an answer. After any other
 * failure it also contains the reply to a command, so that a replay does not carry out the command twice; but not the notice of
 * a failed or refused message, because a replay of such a message asks the model again.
 */
function keepsReply({ outcome }: Conclusion, end: Undeliverable['outcome']): boolean {
  if (end === 'undeliverable') return outcome === 'answered';
  return outcome !== 'failed' && outcome !== 'refused';
}
