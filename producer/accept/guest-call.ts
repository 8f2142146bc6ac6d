import type { Update } from '@grammyjs/types';
import { isFields } from '../../shared/base/fields.ts';
import { pause, type Service } from '../../shared/base/lifecycle.ts';
import { type InboundMessage, VERSION_OF_SUMMONS } from '../../shared/flow/message.ts';
import { type EntryId, keysOf, shardOf } from '../../shared/redis/keys.ts';
import { FIRST_MESSAGE_WITHIN_MS, type SummonsBook, summonsBook } from '../../shared/state/turn/summons.ts';
import { isFinal } from '../../shared/telegram/failure.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import { textsFor } from '../../shared/texts/language.ts';
import type { ProducerEnv } from '../env.ts';
import type { Gate } from './gate.ts';
import { isInteger, type RawMessage, wellFormed } from './raw-message.ts';
import { readUpdate, type UpdateReading } from './read-update.ts';

/**
 * Reads a summons as a message of the person who calls: only `guests` may, by the number of their account, and never a bot
 * or a chat that speaks for somebody. What stands around it in the chat is not seen. Pure, never throws.
 */
export function readSummons(
  update: unknown,
  gate: Pick<Gate, 'bot'>,
  guests: ReadonlySet<number>,
  textMaxChars: number,
): UpdateReading {
  const { update_id, guest_message: message }: Unchecked<Update> = isFields(update) ? update : {};
  if (!isFields(message)) return { accept: false, reason: 'malformed' };
  const { from, guest_query_id: queryId, sender_chat: senderChat }: RawMessage = message;
  if (!isInteger(from?.id) || typeof queryId !== 'string' || queryId !== wellFormed(queryId))
    return { accept: false, reason: 'malformed' };
  if (!guests.has(from.id) || isFields(senderChat)) return { accept: false, reason: 'not_allowed' };
  // Telegram has seen to it that the message is for this bot.
  const open: Gate = { ...gate, allowed: 'everyone', answersAll: 'everyone' };
  const reading = readUpdate({ update_id, message }, open, textMaxChars);
  return reading.accept ? { accept: true, message: asSummons(reading.message, queryId) } : reading;
}

function asSummons({ topicId: _, album: __, chatId, from, ...read }: InboundMessage, queryId: string): InboundMessage {
  const own = { v: VERSION_OF_SUMMONS, chatId: from.id, from: { ...from, isGuest: true } } as const;
  return { ...read, ...own, summons: { chatId, queryId } };
}

/** Answers summonses as soon as they are accepted. */
export interface Summoner extends Service {
  /** Puts the beginning of the answer into the chat. Contract: returns at once and never throws; the worker sees to what fails. */
  begin(entry: EntryId, message: InboundMessage): void;
}

/**
 * A summons expires within seconds, and its message may wait for longer: behind others of its lane, or for a free worker.
 * So the process that accepts it answers it with a few words, and the answer itself is edited in. Telegram takes that once,
 * so only its own word is noted; where there is none, the worker that delivers the answer tries again.
 */
export function createSummoner({ telegram, redis, settings, log, reach }: ProducerEnv): Summoner {
  const running = new Set<Promise<void>>();
  const answer = async (book: SummonsBook, entry: EntryId, { summons, from }: InboundMessage): Promise<void> => {
    const { oneMoment } = textsFor(undefined, from.language);
    const answered = await telegram.answerSummons(summons?.queryId ?? '', oneMoment, FIRST_MESSAGE_WITHIN_MS);
    reach('summons answered');
    if (answered.ok) await keepTrying(() => book.put(entry, answered.value.inlineId));
    else if (isFinal(answered.failure)) await book.refuse(entry);
    reach('summons noted');
  };
  return {
    name: 'summoner',
    begin(entry, message) {
      const book = summonsBook(redis, keysOf(shardOf(message.chatId, settings.SHARDS)));
      const begun = answer(book, entry, message)
        .catch((error) => log.warn({ err: error, entry }, 'the beginning of an answer to a summons could not be noted'))
        .finally(() => running.delete(begun));
      running.add(begun);
    },
    stop: async () => void (await Promise.all(running)),
  };
}

const NOTE_RETRY_MS = 200;
const NOTE_TRIES = 25;

/** Only this process knows the id: a Redis that is away for a moment must not lose it. */
function keepTrying(note: () => Promise<unknown>, left = NOTE_TRIES): Promise<unknown> {
  return note().catch(async (error) => {
    if (left <= 1) throw error;
    await pause(NOTE_RETRY_MS);
    return keepTrying(note, left - 1);
  });
}
