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
 * Reads a summons as a message of its sender. Accepts only a summons by a person whose id is in `guests`; rejects bots, and
 * messages that somebody writes on behalf of a chat. Pure, never throws.
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
  // Telegram delivers a summons only to the bot that the summons names, but from any chat. So the lists of chats do not apply.
  const open: Gate = { ...gate, allowed: 'everyone', answersAll: 'everyone' };
  const reading = readUpdate({ update_id, message }, open, textMaxChars);
  return reading.accept ? { accept: true, message: asSummons(reading.message, queryId) } : reading;
}

function asSummons({ topicId: _, album: __, chatId, from, ...read }: InboundMessage, queryId: string): InboundMessage {
  const own = { v: VERSION_OF_SUMMONS, chatId: from.id, from: { ...from, isGuest: true } } as const;
  return { ...read, ...own, summons: { chatId, queryId } };
}

/** Sends the first message in reply to a summons. */
export interface Summoner extends Service {
  /** Begins to send the first message. Contract: returns at once, never throws. If the send fails, a worker may try again. */
  begin(entry: EntryId, message: InboundMessage): void;
}

/**
 * Creates the summoner. A summons expires within seconds, but may wait longer, behind other messages of its lane or for a free
 * worker. So the producer sends a short first message at once, and a worker later replaces its text with the answer. The
 * producer stores only a definite result: the message's id, or a final refusal. After any other result a worker tries again,
 * which is safe, because Telegram accepts only one message for a summons.
 */
export function createSummoner({ telegram, redis, settings, log, reach }: ProducerEnv): Summoner {
  const running = new Set<Promise<void>>();
  const answer = async (book: SummonsBook, entry: EntryId, { summons, from }: InboundMessage): Promise<void> => {
    const { oneMoment } = textsFor(undefined, from.language);
    const result = await telegram.answerSummons(summons?.queryId ?? '', oneMoment, FIRST_MESSAGE_WITHIN_MS);
    reach('summons answered');
    if (result.ok) await retryWrite(() => book.put(entry, result.value.inlineId));
    else if (isFinal(result.failure)) await book.refuse(entry);
    reach('summons noted');
  };
  return {
    name: 'summoner',
    begin(entry, message) {
      const book = summonsBook(redis, keysOf(shardOf(message.chatId, settings.SHARDS)));
      const task = answer(book, entry, message)
        .catch((error) => log.warn({ err: error, entry }, 'the beginning of an answer to a summons could not be noted'))
        .finally(() => running.delete(task));
      running.add(task);
    },
    stop: async () => void (await Promise.all(running)),
  };
}

const WRITE_RETRY_MS = 200;
const WRITE_TRIES = 25;

/** Tries a write for about five seconds, since no other process knows the sent message's id. Rejects if the last try fails. */
function retryWrite(write: () => Promise<unknown>, triesLeft = WRITE_TRIES): Promise<unknown> {
  return write().catch(async (error) => {
    if (triesLeft <= 1) throw error;
    await pause(WRITE_RETRY_MS);
    return retryWrite(write, triesLeft - 1);
  });
}
