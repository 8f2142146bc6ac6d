import { isFields } from '../../shared/base/fields.ts';
import { operatorsOf, type Settings } from '../../shared/base/settings.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { DESK_WORDS, slashed } from '../../shared/telegram/commands.ts';
import { type Desk, type Gate, isForAnother } from './gate.ts';
import { isInteger, type RawMessage, wellFormed } from './raw-message.ts';
import { personOf, placeOf, type RawUpdate, type UpdateReading } from './read-update.ts';

/** The data of a button in the operators' chat: `/desk ` and words that only the worker interprets. */
const PRESS = /^\/desk [\w.@/-]+(?: [\w.@/-]+)*$/;
const WORDS_CHARS_MAX = 300;

/** The operators' chat, where alerts arrive, and the operators' ids; `undefined` if the settings name no such chat. */
export function deskOf(settings: Settings): Desk | undefined {
  const { TELEGRAM_ALERT_CHAT_ID: chatId } = settings;
  return chatId === undefined ? undefined : { chatId, operators: operatorsOf(settings) };
}

/**
 * Reads an operator's command in the operators' chat, or an operator's press of a `/desk` button there, as the command `desk`,
 * so that the stream stores and orders both like any message. Rejects a press of such a button by anybody else. Returns
 * `undefined` for all other updates; the caller then reads the update as in any other chat. Pure, never throws.
 */
export function readDesk(update: unknown, gate: Gate, nowMs: number): UpdateReading | undefined {
  const { desk } = gate;
  const { update_id: updateId, callback_query: press, message } = (isFields(update) ? update : {}) as RawUpdate;
  if (desk === undefined || !isInteger(updateId)) return undefined;
  if (isFields(press)) {
    const { data, message: under, from } = press;
    if (typeof data !== 'string' || !PRESS.test(data) || !isInteger(under?.message_id)) return undefined;
    if (under.chat?.id !== desk.chatId || !isInteger(from?.id)) return undefined;
    if (!desk.operators.has(from.id)) return { accept: false, reason: 'not_an_operator' };
    return acceptCommand(updateId, under, from, { text: data, sentAtMs: nowMs, pressed: under.message_id });
  }
  if (!isFields(message) || message.chat?.id !== desk.chatId) return undefined;
  const { from } = message as RawMessage;
  if (!isInteger(from?.id) || !desk.operators.has(from.id)) return undefined;
  const text = wordsOf(message, gate.bot);
  if (text === undefined) return undefined;
  const sentAtMs = isInteger(message.date) ? message.date * 1000 : nowMs;
  return acceptCommand(updateId, message, from, { text, sentAtMs });
}

/** The text of the command `desk` for an operator's command: `/desk status` for `/status`. `undefined` for other messages. */
function wordsOf(message: RawMessage, bot: Gate['bot']): string | undefined {
  const { text, forward_origin: origin } = message;
  if (typeof text !== 'string' || origin !== undefined || isForAnother(message, bot)) return undefined;
  const command = slashed(wellFormed(text).trim());
  if (command === undefined || !DESK_WORDS.includes(command.name)) return undefined;
  return graphemePrefix(`/desk ${command.name} ${command.words}`.trim().replace(/\s+/g, ' '), WORDS_CHARS_MAX);
}

function acceptCommand(
  updateId: number,
  message: RawMessage,
  from: NonNullable<RawMessage['from']>,
  { text, ...rest }: { text: string } & Pick<InboundMessage, 'sentAtMs' | 'pressed'>,
): UpdateReading {
  const sender = { ...personOf(from, Number(from.id), false), isOperator: true as const };
  const place = placeOf(message, Number(message.chat?.id));
  const content = { kind: 'text', text } as const;
  const messageId = Number(message.message_id);
  return { accept: true, message: { v: 1, updateId, ...place, messageId, from: sender, ...rest, content } };
}
