/** What people do besides writing: their acts as updates. */
import { chatBody, messageBody } from './bodies.ts';
import type { Chat, Membership, ShownMessage } from './chats.ts';
import type { Desk } from './desk.ts';
import { userBody } from './inbound.ts';
import type { InlineButton } from './markup.ts';
import { dataIn } from './rich-message.ts';

const now = (): number => Math.floor(Date.now() / 1000);

/** A press of a button, and the id of its query. Throws where nobody could press it. */
export function press(
  desk: Desk,
  chat: Chat,
  messageId: number,
  data: string,
  fromId: number,
): { queryId: string; update: object } {
  const message = chat.shown.get(messageId);
  if (message === undefined || !canPress(message, data)) {
    throw new Error(`Message ${messageId} of chat ${chat.id} has no button with the data ${JSON.stringify(data)}.`);
  }
  chat.history.push({ kind: 'pressed', at: Date.now(), label: labelOf(message, data) });
  const queryId = desk.queries.open();
  const callback_query = {
    id: queryId,
    from: { ...userBody(fromId), language_code: 'en', ...lastSeen(chat, fromId) },
    message: messageBody(chat, message, desk.bot),
    chat_instance: String(-chat.id),
    data,
  };
  return { queryId, update: { callback_query } };
}

/** Who has written in the chat before has the same name now. */
function lastSeen({ others }: Chat, id: number): object | undefined {
  const senders = [...others.values()].map(({ from }) => from as { id?: unknown } | undefined);
  return senders.findLast((from) => from?.id === id);
}

function canPress({ replyMarkup, rich }: ShownMessage, data: string): boolean {
  return dataIn([replyMarkup, rich]).includes(data);
}

/** What stands on the button with that data; the data where it is a button in a rich message. */
function labelOf({ replyMarkup }: ShownMessage, data: string): string {
  const { inline_keyboard: rows = [] } = (replyMarkup ?? {}) as { inline_keyboard?: InlineButton[][] };
  return rows.flat().find(({ callback_data }) => callback_data === data)?.text ?? data;
}

/** The update for a change of what the bot is in a chat; makes the change. */
export function changeMembership({ bot }: Desk, chat: Chat, membership: Membership, fromId: number): object {
  const member = (status: Membership) => ({ user: bot, status, ...(status === 'kicked' && { until_date: 0 }) });
  const [old_chat_member, new_chat_member] = [member(chat.membership), member(membership)];
  chat.membership = membership;
  const from = userBody(fromId);
  return { my_chat_member: { chat: chatBody(chat), from, date: now(), old_chat_member, new_chat_member } };
}

/** A service message of a group. */
export function serviceMessage({ chats }: Desk, chat: Chat, what: object): object {
  return {
    message: { message_id: chats.nextMessageId(chat), from: userBody(1), chat: chatBody(chat), date: now(), ...what },
  };
}

/** The press of "stop" on a draft; undefined where there is no such button. */
export function stopDraft(desk: Desk, chat: Chat, topicId: number | undefined): object | undefined {
  const stopped = desk.drafts.stop(chat, topicId);
  if (stopped === undefined) return undefined;
  chat.history.push({ kind: 'pressed', at: Date.now(), label: 'Stop' });
  const place = { chat: chatBody(chat), ...(stopped.topicId !== undefined && { message_thread_id: stopped.topicId }) };
  return { stopped_message_generation: { ...place, draft_id: stopped.draftId } };
}
