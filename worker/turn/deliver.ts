import { type Span, SpanKind } from '@opentelemetry/api';
import { failSpan } from '../../shared/base/spans.ts';
import { messaging, SPAN } from '../../shared/base/telemetry.ts';
import { commandIn, isSelfEntered } from '../../shared/flow/message.ts';
import { chatKey, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { longWaitAlert, telegramAwayAlert, undeliverableAlert } from '../alerts/causes/telegram.ts';
import type { Env } from '../env.ts';
import { backoffMs, type Delivered, type Later, TELEGRAM_AWAY } from '../lane/verdict.ts';
import { removeTurn, trialLost } from '../recovery/fresh-session.ts';
import { type DeliveryTime, deliver } from '../reply/outbox.ts';
import { afterRefusal, bringBackUndelivered, undelivered } from './undelivered.ts';

const UNAUTHORIZED_RETRY_MS = 30_000;

/** Delivers a conclusion, and takes away what showed that it was coming, or the button that asked for it. */
export async function deliverAndClear(
  turn: Turn<Env>,
  conclusion: Conclusion,
  to: Destination,
  { isFollowed = false, ...time }: Omit<DeliveryTime, 'isFollowed'> & Partial<Pick<DeliveryTime, 'isFollowed'>>,
): Promise<Delivered> {
  const { env } = turn;
  const isLeft = env.progress.isLeft(turn);
  const verdict = await deliverConclusion(turn, conclusion, to, {
    ...time,
    isFollowed: isFollowed || isLeft,
  });
  if (verdict.kind !== 'settle') return verdict;
  if (isLeft) await env.progress.clear(turn, to);
  const asking = turn.parking.shown;
  if (asking !== undefined) void env.telegram.removeButtons(to, asking);
  // Nothing depends on this call. A press that was refused has done nothing: the button is still for the others.
  const isDone = conclusion.outcome !== 'refused' && conclusion.keepsButtons !== true;
  if (turn.message.ok && turn.message.value.pressed !== undefined && isDone)
    void env.telegram.removeButtons(to, turn.message.value.pressed);
  return verdict;
}

/** Delivers a stored conclusion, and says what follows from what Telegram says. Contract: as `runTurn`. */
async function deliverConclusion(
  turn: Turn<Env>,
  conclusion: Conclusion,
  to: Destination,
  time: DeliveryTime,
): Promise<Delivered> {
  const attributes = { ...messaging('send', 'telegram'), 'spillway.parts': conclusion.parts.length };
  const work = async (span: Span) => {
    const { elsewhere } = turn.env;
    const send = turn.isElsewhere && elsewhere ? elsewhere.deliver : deliver;
    const delivered = await send(turn, conclusion, to, time);
    if (delivered.kind !== 'delivered') failSpan(span, delivered.failure.kind);
    return delivered;
  };
  const delivery = await turn.env.telemetry.span(SPAN.deliver, attributes, work, { kind: SpanKind.PRODUCER });
  if (delivery.kind === 'delivered') {
    const { record } = delivery;
    if (record.confirmed > 0 && turn.refusedAnswers.length > 0) await bringBackUndelivered(turn);
    return { kind: 'settle', conclusion, ...(record.parts > 0 && { delivery: record }) };
  }
  const { failure } = delivery;
  if (failure.migratedTo !== undefined && failure.migratedTo !== to.chatId) {
    const told = await moveChat(turn, conclusion, failure.migratedTo);
    return deliverConclusion(turn, told, { chatId: failure.migratedTo }, { ...time, isNew: false });
  }
  // A rejected token affects every message, and is not this one's fault.
  if (failure.kind === 'unauthorized')
    return {
      kind: 'later',
      delayMs: failure.retryAfterMs ?? UNAUTHORIZED_RETRY_MS,
      reason: 'telegram_unauthorized',
      isFree: true,
    };
  if (delivery.kind === 'later') return waitWithAnswer(turn, conclusion, failure);
  return afterRefusal(turn, conclusion, failure, to);
}

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

/**
 * A group that became a supergroup continues under its new id, with its conversation. Where that belongs to another
 * shard nothing can come with it: what features keep of it ends, and the conclusion says what. Returns the conclusion to
 * deliver.
 */
export async function moveChat(turn: Turn<Env>, conclusion: Conclusion, to: number): Promise<Conclusion> {
  const { settings, features } = turn.env;
  const { keys, chat, home, write } = turn;
  const moved = chatKey(to);
  const isSameShard = shardOf(to, settings.SHARDS) === shardOf(parseChatKey(chat)?.chatId ?? 0, settings.SHARDS);
  const current = turn.sessionAfter(conclusion);
  const left = isSameShard ? [] : await Promise.all(features.map((each) => each.leftBehind?.(turn)));
  const lost = left.flatMap((each) => each?.texts ?? []);
  const told = lost.reduce(withLast, conclusion);
  await write('migrated', [
    turn.migrateTo(to),
    // From then on, what waits under the old id comes first, in the session of the new one: see `begin.lua`.
    ...(isSameShard && home !== moved
      ? [chatState(keys, moved).beginIn(current), ...chatState(keys, chat).becomes(moved)]
      : []),
    ...(lost.length === 0 ? [] : [turn.reviseConclusion(told)]),
    ...left.flatMap((each) => each?.changes ?? []),
  ]);
  return told;
}

/** A conclusion with one more plain part at its end. */
function withLast({ layout, ...conclusion }: Conclusion, text: string): Conclusion {
  return { ...conclusion, parts: [...conclusion.parts, text], ...(layout && { layout: [...layout, null] }) };
}

/** Where the replies of a message go: its chat, or the one that it became. */
export function destinationOf(turn: Turn): Destination {
  const parsed = parseChatKey(turn.home);
  if (!parsed) throw new Error(`not a chat key: ${turn.home}`);
  const { migratedTo } = turn;
  if (migratedTo !== undefined) return { chatId: migratedTo };
  return { chatId: parsed.chatId, ...(parsed.topicId !== undefined && { topicId: parsed.topicId }) };
}
