import { type Span, SpanKind } from '@opentelemetry/api';
import { failSpan } from '../../shared/base/spans.ts';
import { messaging, SPAN } from '../../shared/base/telemetry.ts';
import { chatKey, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import type { AttemptResult, DeliveryTime } from '../lane/verdict.ts';
import { deliver } from '../reply/outbox.ts';
import { afterRefusal, replayRefusedAnswers } from './undelivered.ts';
import { waitWithAnswer } from './wait-for-telegram.ts';

const UNAUTHORIZED_RETRY_MS = 30_000;

/**
 * Delivers a conclusion. If the message can then be settled, also removes the progress message, the buttons of an open question
 * and, after most presses of a button, the buttons of the message with the pressed button.
 */
export async function deliverAndClear(
  turn: Turn<Env>,
  conclusion: Conclusion,
  { isFollowed = false, ...time }: Omit<DeliveryTime, 'isFollowed'> & Partial<Pick<DeliveryTime, 'isFollowed'>>,
): Promise<AttemptResult> {
  const { env } = turn;
  const hasProgressMessage = env.progress.isLeft(turn);
  const deliveryTime = { ...time, isFollowed: isFollowed || hasProgressMessage };
  const verdict = await deliverConclusion(turn, conclusion, deliveryTime);
  if (verdict.kind !== 'settle') return verdict;
  if (hasProgressMessage) await env.progress.clear(turn);
  const questionId = turn.parking.openMessageId;
  if (questionId !== undefined) void env.telegram.removeButtons(turn.destination, questionId);
  // Best effort. After a refused press the buttons stay, since other people may still use them.
  const isDone = conclusion.outcome !== 'refused' && conclusion.keepsButtons !== true;
  if (turn.message.ok && turn.message.value.pressed !== undefined && isDone)
    void env.telegram.removeButtons(turn.destination, turn.message.value.pressed);
  return verdict;
}

/** Delivers a conclusion, and derives the attempt's result. Contract: throws `FencedError`, or what Redis throws. */
async function deliverConclusion(turn: Turn<Env>, conclusion: Conclusion, time: DeliveryTime): Promise<AttemptResult> {
  const attributes = { ...messaging('send', 'telegram'), 'spillway.parts': conclusion.parts.length };
  const work = async (span: Span) => {
    const { elsewhere } = turn.env;
    const send = turn.isElsewhere && elsewhere ? elsewhere.deliver : deliver;
    const result = await send(turn, conclusion, time);
    if (result.kind !== 'delivered') failSpan(span, result.failure.kind);
    return result;
  };
  const delivery = await turn.env.telemetry.span(SPAN.deliver, attributes, work, { kind: SpanKind.PRODUCER });
  if (delivery.kind === 'delivered') {
    const { record } = delivery;
    if (record.confirmed > 0 && turn.refusedAnswers.length > 0) await replayRefusedAnswers(turn);
    return { kind: 'settle', conclusion, ...(record.parts > 0 && { delivery: record }) };
  }
  const { failure } = delivery;
  if (failure.migratedTo !== undefined && failure.migratedTo !== turn.destination.chatId) {
    const newConclusion = await moveChat(turn, conclusion, failure.migratedTo);
    return deliverConclusion(turn.movedTo(failure.migratedTo), newConclusion, { ...time, isNew: false });
  }
  // A rejected bot token affects every message, so the attempt does not count.
  if (failure.kind === 'unauthorized') {
    const delayMs = failure.retryAfterMs ?? UNAUTHORIZED_RETRY_MS;
    return { kind: 'later', delayMs, reason: 'telegram_unauthorized', isUncounted: true };
  }
  if (delivery.kind === 'later') return waitWithAnswer(turn, conclusion, failure);
  return afterRefusal(turn, conclusion, failure);
}

/**
 * Makes a group that became a supergroup continue its conversation under the new id. If the new id belongs to another shard, no
 * data can move, and the features delete their data about the chat. Returns the conclusion, with a text for each loss.
 */
async function moveChat(turn: Turn<Env>, conclusion: Conclusion, newChatId: number): Promise<Conclusion> {
  const { settings, features } = turn.env;
  const { keys, chat, currentChat, write } = turn;
  const newChat = chatKey(newChatId);
  const isSameShard = shardOf(newChatId, settings.SHARDS) === shardOf(parseChatKey(chat)?.chatId ?? 0, settings.SHARDS);
  const current = turn.sessionAfter(conclusion);
  const losses = isSameShard ? [] : await Promise.all(features.map((each) => each.dropOnShardMove?.(turn)));
  const lossTexts = losses.flatMap((each) => each?.texts ?? []);
  const newConclusion = lossTexts.reduce(withLastText, conclusion);
  await write('migrated', [
    turn.migrateTo(newChatId),
    // From this write on, `begin.lua` begins messages of the new id after those of the old id, in the same session.
    ...(isSameShard && currentChat !== newChat
      ? [chatState(keys, newChat).beginIn(current), ...chatState(keys, chat).becomes(newChat)]
      : []),
    ...(lossTexts.length === 0 ? [] : [turn.reviseConclusion(newConclusion)]),
    ...losses.flatMap((each) => each?.changes ?? []),
  ]);
  return newConclusion;
}

function withLastText({ layout, ...conclusion }: Conclusion, text: string): Conclusion {
  return { ...conclusion, parts: [...conclusion.parts, text], ...(layout && { layout: [...layout, null] }) };
}
