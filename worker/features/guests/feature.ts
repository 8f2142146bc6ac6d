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

/** The call of the process that accepted the summons is over by then, and noted. */
const BEGUN_MS = FIRST_MESSAGE_WITHIN_MS + 500;
const LOOK_MS = 100;
/** An attempt that has ended otherwise waits for it. */
const PUT_WITHIN_MS = 10_000;

/** Calls of the bot in chats that it is not part of (Telegram's guest mode): one answer, which is edited into one message. */
export const guestsFeature: Feature = {
  name: 'guests',
  elsewhere: {
    writer({ from: { id, name }, chatTitle }) {
      // A title is anybody's words.
      const place = chatTitle === undefined ? 'a chat with somebody else' : `the group ${plainName(chatTitle)}`;
      return `${plainName(name)} (id ${id}) calls you in ${place}, of which you see nothing else: all there read your answer, one message of at most 3,500 characters`;
    },
    envOf(env) {
      const settings = { ...env.settings, rich: 'off' as const };
      // Strangers must not read what a person has spent.
      return { ...env, settings, budget: undefined, progress: NO_PROGRESS, tools: forSummons(env.tools) };
    },
    begin(turn) {
      const begun = placeOf(turn, turn.texts.oneMoment).catch(() => undefined);
      return async () => void (await begun);
    },
    deliver,
  },
};

/**
 * Edits a conclusion into the message that stands where the bot was called, so a repeat does no harm. Where Telegram will never
 * take that, it goes to the person's own chat, and says so. Contract: as `deliver` of the outbox.
 */
async function deliver(turn: Turn<Env>, conclusion: Conclusion, time: DeliveryTime): Promise<Delivery> {
  const { env, texts, message } = turn;
  const isThere = !turn.reply.isPrivate && conclusion.parts.length > 0;
  if (!isThere) return deliverInChat(turn, conclusion, time);
  const answer = inOne(conclusion, texts.onlyOneMessage);
  const place = await placeOf(turn, answer.text);
  const put = place.kind === 'there' ? await edit(env, place.inlineId, answer) : place;
  if (put.kind !== 'refused') return put;
  const lead = texts.answeredInPrivate(message.ok ? message.value.chatTitle : undefined);
  const privateAnswer = surroundWithTexts([lead], conclusion, []);
  await turn.write('', [turn.reply.markPrivate(), turn.reviseConclusion(privateAnswer)]);
  return deliverInChat(turn, privateAnswer, { ...time, isNew: false });
}

/**
 * The place for the answer. Where the process that accepted the summons died before it put something there, `text` is put
 * there now.
 */
async function placeOf(turn: Turn<Env>, text: string): Promise<Place | { kind: 'later'; failure: TelegramFailure }> {
  const { env } = turn;
  const { telegram } = env;
  const summonses = summonsBook(env.redis, env.keys);
  const { entry } = turn;
  for (;;) {
    const known = await summonses.look(entry);
    if (known) return known;
    const leftMs = BEGUN_MS - turn.ageMs();
    if (leftMs <= 0) break;
    await pause(Math.min(leftMs, LOOK_MS));
  }
  await turn.assertOwned();
  const answered = await telegram.answerSummons(turn.summons?.queryId ?? '', text, PUT_WITHIN_MS);
  env.reach('summons answered');
  if (answered.ok) return (await summonses.put(entry, answered.value.inlineId)) ?? { kind: 'refused' };
  if (!isFinal(answered.failure)) return { kind: 'later', failure: answered.failure };
  return (await summonses.refuse(entry)) ?? { kind: 'refused' };
}

/** Somebody may have deleted the message, or Telegram does not take the format: then the words are tried as they are. */
async function edit(
  env: Env,
  inlineId: string,
  { text, entities }: ReturnType<typeof inOne>,
): Promise<Delivery | Extract<Place, { kind: 'refused' }>> {
  const { telegram } = env;
  const formatted = await telegram.editSummoned(inlineId, text, entities);
  const isRefused = !formatted.ok && formatted.failure.kind === 'rejected' && entities.length > 0;
  const edited = isRefused ? await telegram.editSummoned(inlineId, text) : formatted;
  env.reach('part sent');
  if (edited.ok) return { kind: 'delivered', record: { parts: 1, confirmed: 1, unsure: 0 } };
  const isNever = isFinal(edited.failure) || edited.failure.kind === 'message_gone';
  return isNever ? { kind: 'refused' } : { kind: 'later', failure: edited.failure };
}
