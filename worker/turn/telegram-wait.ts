import { chatState } from '../../shared/state/chat/chat.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import { telegramAwayAlert } from '../alerts/messages.ts';
import { type Attempt, type Conclusion, TELEGRAM_TRIES, TELEGRAM_WAITED } from '../lane/attempt.ts';
import { backoffMs } from '../lane/backoff.ts';
import { TELEGRAM_AWAY, type Verdict } from '../lane/verdict.ts';
import type { TurnPorts } from './turn.ts';
import { undelivered } from './undelivered.ts';

type Later = Extract<Verdict, { kind: 'later' }>;

/** Those that wait for the same probe do not all return in the same moment. */
const SPREAD_MS = 500;
const THROTTLED_MS_MIN = 1_000;
/** A shorter wait is over before another message of the chat comes to be sent. */
const NOTED_MS_MIN = 2_000;

/**
 * Why an attempt is not to begin: Telegram is away, or asked us to leave this chat alone. Whatever it would do, the user
 * could not be told; so the model is not asked either. A finished answer waits as long as the operator's patience lasts,
 * any other message without a limit. It uses up no attempt.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function heldBack(
  ports: Pick<TurnPorts, 'breaker' | 'ask'>,
  attempt: Attempt,
): Promise<Verdict | undefined> {
  const quietMs = attempt.quietUntilMs - attempt.nowMs();
  if (quietMs > 0) return { kind: 'later', delayMs: quietMs, reason: 'telegram_throttled', isFree: true };
  const retryAfterMs = await ports.breaker.awayMs();
  if (retryAfterMs === 0) return undefined;
  const failure = { kind: 'away', description: 'Telegram does not answer', retryAfterMs } as const;
  return attempt.conclusion ? waitWithAnswer(ports, attempt, attempt.conclusion, failure) : waitForTelegram(failure);
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
  { ask: { settings } }: Pick<TurnPorts, 'ask'>,
  attempt: Attempt,
  conclusion: Conclusion,
  failure: TelegramFailure,
): Promise<Verdict> {
  if (failure.kind === 'throttled') return waitThrottled(attempt, failure);
  const isTry = failure.kind !== 'away';
  const tries = Number(attempt.field(TELEGRAM_TRIES) ?? 0) + (isTry ? 1 : 0);
  const waitedMs = Number(attempt.field(TELEGRAM_WAITED) ?? 0) + attempt.elapsedMs();
  const leftMs = settings.telegramPatienceMs - waitedMs;
  if (leftMs <= 0)
    return undelivered(attempt, conclusion, {
      outcome: 'failed',
      reason: TELEGRAM_AWAY,
      alert: telegramAwayAlert(attempt, waitedMs, failure),
    });
  const wait = isTry ? later(failure, backoffMs(tries)) : waitForTelegram(failure);
  const delayMs = Math.ceil(Math.min(wait.delayMs, leftMs));
  const turn = attempt.keys.turn(attempt.entry);
  await attempt.write('', [['HSET', turn, TELEGRAM_WAITED, Math.round(waitedMs + delayMs), TELEGRAM_TRIES, tries]]);
  return { ...wait, delayMs };
}

/** The chat is left alone for so long, by whatever message and after whatever restart. */
async function waitThrottled(attempt: Attempt, failure: TelegramFailure): Promise<Verdict> {
  const wait = later(failure, Math.max(failure.retryAfterMs ?? 0, THROTTLED_MS_MIN));
  const noted = chatState(attempt.keys, attempt.chat).keepQuietUntil(attempt.nowMs() + wait.delayMs);
  if (wait.delayMs >= NOTED_MS_MIN) await attempt.write('', [noted]);
  return wait;
}

function later({ kind }: TelegramFailure, delayMs: number): Later {
  return { kind: 'later', delayMs, reason: `telegram_${kind}`, isFree: true };
}
