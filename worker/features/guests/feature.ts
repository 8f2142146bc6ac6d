import { pause } from '../../../shared/base/lifecycle.ts';
import type { Conclusion } from '../../../shared/state/turn/record.ts';
import { FIRST_MESSAGE_WITHIN_MS, type Place, summonsBook } from '../../../shared/state/turn/summons.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { isFinal, type TelegramFailure } from '../../../shared/telegram/failure.ts';
import { plainName } from '../../ask/message-header.ts';
import type { Env } from '../../env.ts';
import type { Feature } from '../../feature.ts';
import type { Delivery, DeliveryTime } from '../../lane/verdict.ts';
import { deliver as deliverInChat } from '../../reply/outbox.ts';
import { inOne } from '../../reply/plan.ts';
import { NO_PROGRESS } from '../../reply/progress.ts';
import { forSummons } from '../../tools/toolboxes.ts';
import { surroundWithTexts } from '../../turn/conclude.ts';

/** When a summons is this old, the process that accepted it has stored the result of the first message, or has died. */
const FIRST_MESSAGE_STORED_MS = FIRST_MESSAGE_WITHIN_MS + 500;
const POLL_MS = 100;
/** The timeout of the request that sends the first message. An attempt cannot end before this request has ended. */
const SEND_TIMEOUT_MS = 10_000;

/** Answers summonses, i.e. calls of the bot in chats that it is not part of (Telegram's guest mode), by editing one message. */
export const guestsFeature: Feature = {
  name: 'guests',
  elsewhere: {
    writer({ from: { id, name }, chatTitle }) {
      // Anybody may have chosen the title, so it is reduced to a plain name.
      const place = chatTitle === undefined ? 'a chat with somebody else' : `the group ${plainName(chatTitle)}`;
      return `${plainName(name)} (id ${id}) calls you in ${place}, of which you see nothing else: all there read your answer, one message of at most 3,500 characters`;
    },
    envOf(env) {
      const settings = { ...env.settings, TELEGRAM_RICH: 'off' as const };
      // Show no budget lines: strangers must not read how much money a person has spent.
      return { ...env, settings, budget: undefined, progress: NO_PROGRESS, tools: forSummons(env.tools) };
    },
    begin(turn) {
      const placeholder = placeOf(turn, turn.texts.oneMoment).catch(() => undefined);
      return async () => void (await placeholder);
    },
    deliver,
  },
};

/**
 * Delivers a conclusion: edits the bot's message in the chat of the summons or, if Telegram refuses the edit for good, answers
 * in the person's private chat, with an explanation. Contract: idempotent; throws `FencedError`, or what Redis throws.
 */
async function deliver(turn: Turn<Env>, conclusion: Conclusion, time: DeliveryTime): Promise<Delivery> {
  const { env, texts, message } = turn;
  const isForSummons = !turn.reply.isPrivate && conclusion.parts.length > 0;
  if (!isForSummons) return deliverInChat(turn, conclusion, time);
  const answer = inOne(conclusion, texts.onlyOneMessage);
  const place = await placeOf(turn, answer.text);
  const delivery = place.kind === 'there' ? await edit(env, place.inlineId, answer) : place;
  if (delivery.kind !== 'refused') return delivery;
  const lead = texts.answeredInPrivate(message.ok ? message.value.chatTitle : undefined);
  const privateAnswer = surroundWithTexts([lead], conclusion, []);
  await turn.write('', [turn.reply.markPrivate(), turn.reviseConclusion(privateAnswer)]);
  return deliverInChat(turn, privateAnswer, { ...time, isNew: false });
}

/**
 * The place for the answer; `later` if Telegram is unavailable. Waits until the process that accepted the summons has stored
 * the result of its first message. If no result appears, e.g. because that process died, sends `text` as the first message.
 */
async function placeOf(turn: Turn<Env>, text: string): Promise<Place | { kind: 'later'; failure: TelegramFailure }> {
  const { env } = turn;
  const summonses = summonsBook(env.redis, env.keys);
  const { entry } = turn;
  for (;;) {
    const place = await summonses.look(entry);
    if (place) return place;
    const leftMs = FIRST_MESSAGE_STORED_MS - turn.ageMs();
    if (leftMs <= 0) break;
    await pause(Math.min(leftMs, POLL_MS));
  }
  await turn.assertOwned();
  const result = await env.telegram.answerSummons(turn.summons?.queryId ?? '', text, SEND_TIMEOUT_MS);
  env.reach('summons answered');
  if (result.ok) return (await summonses.put(entry, result.value.inlineId)) ?? { kind: 'refused' };
  if (!isFinal(result.failure)) return { kind: 'later', failure: result.failure };
  return (await summonses.refuse(entry)) ?? { kind: 'refused' };
}

/** Edits the message, without formatting if Telegram rejects the format. `refused` is final, e.g. after a deletion. */
async function edit(
  env: Env,
  inlineId: string,
  { text, entities }: ReturnType<typeof inOne>,
): Promise<Delivery | Extract<Place, { kind: 'refused' }>> {
  const result = await env.telegram.editSummoned(inlineId, text, entities);
  const isFormatRefused = !result.ok && result.failure.kind === 'rejected' && entities.length > 0;
  const final = isFormatRefused ? await env.telegram.editSummoned(inlineId, text) : result;
  env.reach('part sent');
  if (final.ok) return { kind: 'delivered', record: { parts: 1, confirmed: 1, unsure: 0 } };
  const isRefused = isFinal(final.failure) || final.failure.kind === 'message_gone';
  return isRefused ? { kind: 'refused' } : { kind: 'later', failure: final.failure };
}
