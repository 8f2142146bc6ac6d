import { commandIn, isSelfEntered } from '../../shared/flow/message.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import { longWaitAlert, telegramAwayAlert, undeliverableAlert } from '../alerts/causes/telegram.ts';
import type { Env } from '../env.ts';
import { backoffMs } from '../lane/backoff.ts';
import { type AttemptResult, type Later, TELEGRAM_AWAY } from '../lane/verdict.ts';
import { loseTrial, removeTurn } from '../recovery/fresh-session.ts';
import { endUndelivered } from './undelivered.ts';

/** The longest random extra wait. Without it, all messages that wait for the same probe would return at once. */
const SPREAD_MS = 500;
const THROTTLED_MS_MIN = 1_000;
/** If the breaker's state was read longer ago than this, it is read again. */
const BREAKER_STATE_AGE_MS_MAX = 2_000;
/** Shorter waits are not stored, so each delays only the message whose send was throttled. */
const STORED_MS_MIN = 2_000;
/** A wait longer than this raises an alert. */
const LONG_WAIT_MS = 600_000;

/**
 * Ends or delays an attempt before the model is asked or the answer is sent, if the user cannot be reached: the chat has
 * blocked or removed the bot, Telegram does not answer, or Telegram demands a wait for this chat (429). While Telegram does not
 * answer, a message whose answer is finished waits for at most `TELEGRAM_PATIENCE_MS`, and a message without an answer waits
 * without a limit. No wait counts as an attempt. Returns `undefined` if nothing is known to prevent an answer.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function resultIfUnreachable(turn: Turn<Env>): Promise<AttemptResult | undefined> {
  if (turn.conclusion === undefined && isGone(turn)) {
    const alert = undeliverableAlert(turn, 'gone: the bot was blocked or removed');
    const changes = await turn.env.selfEntered.get(turn.kind)?.chatGone(turn);
    await removeSuspect(turn);
    const conclusion = { outcome: 'undeliverable', parts: [] } as const;
    return endUndelivered(turn, conclusion, { outcome: 'undeliverable', reason: 'telegram_gone', alert, changes });
  }
  const quietMs = turn.quietUntilMs - turn.nowMs();
  if (quietMs > 0) return { kind: 'later', delayMs: quietMs, reason: 'telegram_throttled', isUncounted: true };
  // The send itself notices an outage that the breaker does not know of yet.
  const retryAfterMs = await turn.env.breaker.awayMs(BREAKER_STATE_AGE_MS_MAX);
  if (retryAfterMs === 0) return undefined;
  const failure = { kind: 'away', description: 'Telegram does not answer', retryAfterMs } as const;
  return turn.conclusion ? waitWithAnswer(turn, turn.conclusion, failure) : laterForTelegram(failure);
}

/** If a message is on trial or may have caused a refusal, hides the message in its conversation, and ends the trial. */
async function removeSuspect(turn: Turn): Promise<void> {
  if (turn.trial === undefined && !turn.isSuspect) return;
  await turn.write('gone', [...removeTurn(turn), ...loseTrial(turn)]);
}

/**
 * Whether the bot is blocked or removed, so that no answer can arrive. A message that was sent after the block proves that the
 * block has ended. Commands still run: `/forget` must work for a person who blocks the bot right after sending that command.
 */
function isGone({ goneMs, message, isElsewhere }: Turn): boolean {
  if (goneMs === 0 || !message.ok || isElsewhere || commandIn(message.value) !== undefined) return false;
  return isSelfEntered(message.value) || message.value.sentAtMs <= goneMs;
}

/** A wait until the next probe of Telegram, plus a random time of up to 0.5 s. */
export function laterForTelegram({ retryAfterMs = 0 }: Pick<TelegramFailure, 'retryAfterMs'>): Later {
  const delayMs = Math.round(retryAfterMs + SPREAD_MS * Math.random());
  return { kind: 'later', delayMs, reason: TELEGRAM_AWAY, isUncounted: true };
}

/**
 * Delays an unsent answer. Ends the message once its waits add up to `TELEGRAM_PATIENCE_MS`, even across restarts; the number
 * of tries has no limit. Obeys a wait that Telegram demands (429), however long, without counting it.
 */
export async function waitWithAnswer(
  turn: Turn<Env>,
  conclusion: Conclusion,
  failure: TelegramFailure,
): Promise<AttemptResult> {
  if (failure.kind === 'throttled') return waitThrottled(turn, failure);
  const isTry = failure.kind !== 'away';
  const previous = turn.waits.telegram;
  const tries = previous.tries + (isTry ? 1 : 0);
  const waitedMs = previous.waitedMs + turn.elapsedMs();
  const leftMs = turn.env.settings.TELEGRAM_PATIENCE_MS - waitedMs;
  if (leftMs <= 0)
    return endUndelivered(turn, conclusion, {
      outcome: 'failed',
      reason: TELEGRAM_AWAY,
      alert: telegramAwayAlert(turn, waitedMs, failure),
    });
  const wait = isTry ? later(failure, backoffMs(tries, turn.env.settings.RETRY_MS)) : laterForTelegram(failure);
  const delayMs = Math.ceil(Math.min(wait.delayMs, leftMs));
  await turn.write('', [turn.waits.storeTelegramWait({ waitedMs: waitedMs + delayMs, tries })]);
  return { ...wait, delayMs };
}

/** Waits as long as Telegram demands (429). Unless the wait is short, it also holds for later messages and after a restart. */
export async function waitThrottled(turn: Turn, failure: TelegramFailure): Promise<Later> {
  const wait = later(failure, Math.max(failure.retryAfterMs ?? 0, THROTTLED_MS_MIN));
  const quiet = chatState(turn.keys, turn.chat).keepQuietUntil(turn.nowMs() + wait.delayMs);
  const alert = queuedAlert(turn.keys, longWaitAlert(turn, 'telegram', wait.delayMs));
  if (wait.delayMs >= STORED_MS_MIN) await turn.write('', wait.delayMs > LONG_WAIT_MS ? [quiet, alert] : [quiet]);
  return wait;
}

function later({ kind }: TelegramFailure, delayMs: number): Later {
  return { kind: 'later', delayMs, reason: `telegram_${kind}`, isUncounted: true };
}
