import { commandIn, isSelfEntered } from '../../shared/flow/message.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import { longWaitAlert, telegramAwayAlert, undeliverableAlert } from '../alerts/causes/telegram.ts';
import type { Env } from '../env.ts';
import { backoffMs } from '../lane/backoff.ts';
import { type Delivered, type Later, TELEGRAM_AWAY } from '../lane/verdict.ts';
import { removeTurn, trialLost } from '../recovery/fresh-session.ts';
import { undelivered } from './undelivered.ts';

/** Those that wait for the same probe do not all return in the same moment. */
const SPREAD_MS = 500;
const THROTTLED_MS_MIN = 1_000;
/** A process looks once a second; one that just began, or whose Redis was away, has not looked. */
const LOOKED_MS = 2_000;
/** A shorter wait is over before another message of the chat comes to be sent. */
const NOTED_MS_MIN = 2_000;
/** The operator is notified of a longer wait. */
const LONG_WAIT_MS = 600_000;

/**
 * Ends or delays an attempt whose user could not be answered: the chat has blocked or removed the bot, Telegram is away, or
 * asked us to leave this chat alone. So the model is not asked either. A finished answer waits for `telegramPatienceMs`, any
 * other message without a limit. The wait uses up no attempt.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function heldBack(turn: Turn<Env>): Promise<Delivered | undefined> {
  if (turn.conclusion === undefined && isGone(turn)) {
    const alert = undeliverableAlert(turn, 'gone: the bot was blocked or removed');
    const commands = await turn.env.selfEntered.get(turn.kind)?.chatGone(turn);
    await leaveConversation(turn);
    const ended = { outcome: 'undeliverable', parts: [] } as const;
    return undelivered(turn, ended, {
      outcome: 'undeliverable',
      reason: 'telegram_gone',
      alert,
      ...(commands && { commands }),
    });
  }
  const quietMs = turn.quietUntilMs - turn.nowMs();
  if (quietMs > 0) return { kind: 'later', delayMs: quietMs, reason: 'telegram_throttled', isFree: true };
  // What was not to be seen then, the send sees.
  const retryAfterMs = await turn.env.breaker.awayMs(LOOKED_MS);
  if (retryAfterMs === 0) return undefined;
  const failure = { kind: 'away', description: 'Telegram does not answer', retryAfterMs } as const;
  return turn.conclusion ? waitWithAnswer(turn, turn.conclusion, failure) : waitForTelegram(failure);
}

/** Removes a message that may be to blame for a refusal from its conversation, and ends its trial. */
async function leaveConversation(turn: Turn): Promise<void> {
  if (turn.trial === undefined && !turn.isBlamed) return;
  await turn.write('gone', [...removeTurn(turn), ...trialLost(turn)]);
}

/**
 * Whether nobody in the chat can be told anything: what was written after that proves that the bot is back. A command is
 * carried out all the same: who has everything erased and then leaves is not to be remembered.
 */
function isGone({ goneMs, message, isElsewhere }: Turn): boolean {
  if (goneMs === 0 || !message.ok || isElsewhere || commandIn(message.value) !== undefined) return false;
  return isSelfEntered(message.value) || message.value.sentAtMs <= goneMs;
}

/** The wait of a message for a Telegram that is away: until the next probe has looked for it. */
export function waitForTelegram({ retryAfterMs = 0 }: Pick<TelegramFailure, 'retryAfterMs'>): Later {
  const delayMs = Math.round(retryAfterMs + SPREAD_MS * Math.random());
  return { kind: 'later', delayMs, reason: TELEGRAM_AWAY, isFree: true };
}

/**
 * The wait of a finished answer that could not be sent now, or its end, when its time is over. It is bounded by time and
 * never by a count, over restarts. A wait that Telegram itself asks for is obeyed, however long it is, and is not counted.
 */
export async function waitWithAnswer(
  turn: Turn<Env>,
  conclusion: Conclusion,
  failure: TelegramFailure,
): Promise<Delivered> {
  const { settings } = turn.env;
  if (failure.kind === 'throttled') return waitThrottled(turn, failure);
  const isTry = failure.kind !== 'away';
  const before = turn.waits.telegram;
  const tries = before.tries + (isTry ? 1 : 0);
  const waitedMs = before.waitedMs + turn.elapsedMs();
  const leftMs = settings.TELEGRAM_PATIENCE_MS - waitedMs;
  if (leftMs <= 0)
    return undelivered(turn, conclusion, {
      outcome: 'failed',
      reason: TELEGRAM_AWAY,
      alert: telegramAwayAlert(turn, waitedMs, failure),
    });
  const wait = isTry ? later(failure, backoffMs(tries, settings.RETRY_MS)) : waitForTelegram(failure);
  const delayMs = Math.ceil(Math.min(wait.delayMs, leftMs));
  await turn.write('', [turn.waits.waitForTelegram({ waitedMs: waitedMs + delayMs, tries })]);
  return { ...wait, delayMs };
}

/** Leaves the chat alone for as long as Telegram asks, whatever message comes and whatever is restarted. */
export async function waitThrottled(turn: Turn, failure: TelegramFailure): Promise<Later> {
  const wait = later(failure, Math.max(failure.retryAfterMs ?? 0, THROTTLED_MS_MIN));
  const noted = chatState(turn.keys, turn.chat).keepQuietUntil(turn.nowMs() + wait.delayMs);
  const alert = queuedAlert(turn.keys, longWaitAlert(turn, 'telegram', wait.delayMs));
  if (wait.delayMs >= NOTED_MS_MIN) await turn.write('', wait.delayMs > LONG_WAIT_MS ? [noted, alert] : [noted]);
  return wait;
}

function later({ kind }: TelegramFailure, delayMs: number): Later {
  return { kind: 'later', delayMs, reason: `telegram_${kind}`, isFree: true };
}
