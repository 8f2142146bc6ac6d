/** The Bot API methods that a gateway needs: what each takes, and what it does. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { messageBody } from './bodies.ts';
import { type Body, type Outgoing, topicIn } from './chats.ts';
import { CAPTION_MAX, FORMATTED, type Formatted, formattedText, MESSAGE_MAX } from './entities.ts';
import { fileOf } from './files.ts';
import { readMarkup } from './markup.ts';
import { flag, integer, json, type Params, read, text } from './params.ts';
import { badRequest } from './refusal.ts';
import { plainText, richBlocks } from './rich-message.ts';
import type { Desk } from './server.ts';

/**
 * A method: answers its result (nothing for `true`), or throws the error that the API would answer. `gone` aborts when the
 * caller hangs up.
 */
type Method = (desk: Desk, params: Params, gone: AbortSignal) => unknown;

const ID_BYTES_MAX = 64;
const TIMES_SINCE = 9.5;
/** The version of the Bot API that a method came with; the others are older than anything here. */
const SINCE: Readonly<Record<string, number>> = { answerguestquery: 10, sendmessagedraft: 9.5, sendrichmessage: 10.2 };

/** A method whose parameters are read by these schemas. */
function method<Fields extends z.ZodRawShape>(
  fields: Fields,
  carryOut: (desk: Desk, params: z.output<z.ZodObject<Fields>>, gone: AbortSignal) => unknown,
): Method {
  const schema = z.object(fields);
  return (desk, params, gone) => carryOut(desk, read(schema, params), gone);
}

const CHAT = { chat_id: integer, message_thread_id: integer.optional() };
const MESSAGE = { chat_id: integer, message_id: integer, reply_markup: z.unknown().optional() };
const PLACE = {
  ...CHAT,
  reply_markup: z.unknown().optional(),
  disable_notification: flag,
  reply_parameters: json(z.object({ message_id: integer, allow_sending_without_reply: flag })).optional(),
};
const CAPTION = { caption: FORMATTED.text, caption_entities: FORMATTED.entities };
const ALBUM = z
  .array(z.object({ type: z.literal('photo', 'type must be photo'), media: text, ...CAPTION }))
  .min(2, 'There are no messages to send')
  .max(10, 'Too many messages to send as an album');
const KINDS = json(z.array(z.string())).optional();

const limited = (what: string, most: number) =>
  z.string().min(1, `${what} must be non-empty`).max(most, `${what} length must not exceed ${most}`);
/** One command of a menu. */
const item = z.object({
  command: limited('command', 32).regex(/^[a-z0-9_]+$/, 'BOT_COMMAND_INVALID'),
  description: limited('command description', 256),
});
export type MenuItem = z.output<typeof item>;

/** The parameters of `setMyCommands`. Without a scope the menu is for everybody for whom there is no narrower one. */
const MENU = {
  commands: json(z.array(item, 'expected an Array of BotCommand').max(100, 'BOT_COMMANDS_TOO_MUCH')),
  scope: json(
    z.discriminatedUnion(
      'type',
      [
        z.object({ type: z.enum(['default', 'all_private_chats', 'all_group_chats']) }),
        z.object({ type: z.literal('chat'), chat_id: integer }),
      ],
      "can't parse BotCommandScope: Unsupported type specified",
    ),
  ).default({ type: 'default' }),
  language_code: z
    .string()
    .regex(/^(?:[a-z]{2})?$/, 'invalid language code specified')
    .default(''),
};

/** Where and how something is sent. */
function placeOf({ chats }: Desk, params: z.output<z.ZodObject<typeof PLACE>>): Omit<Outgoing, 'text'> {
  const { message_id: replyTo, allow_sending_without_reply: replyMayMiss = false } = params.reply_parameters ?? {};
  const chat = chats.find(params.chat_id);
  return {
    chatId: chat.id,
    topicId: topicIn(chat, params.message_thread_id),
    replyTo,
    replyMayMiss,
    isSilent: params.disable_notification,
    replyMarkup: readMarkup(params.reply_markup),
  };
}

/** Sends, and answers the message. What the bot says dismisses its draft there. */
function send({ chats, drafts, bot }: Desk, outgoing: Outgoing): Body {
  const sent = chats.send(outgoing);
  drafts.dismiss(sent.chat.id, sent.message.topicId);
  return messageBody(sent, bot);
}

/** The text of a message. White space alone is no text. */
function messageText(desk: Desk, params: z.output<z.ZodObject<typeof FORMATTED>>): Formatted {
  if (params.text === '') throw badRequest('message text is empty');
  const formatted = formattedText(params, MESSAGE_MAX, desk.knows(TIMES_SINCE));
  if (formatted.text === '') throw badRequest('text must be non-empty');
  return formatted;
}

const captionOf = ({ caption, caption_entities: entities }: z.output<z.ZodObject<typeof CAPTION>>): Formatted =>
  formattedText({ text: caption, entities }, CAPTION_MAX);

/** A method that sends the file in that field. */
function sendFile(kind: 'photo' | 'audio' | 'document'): Method {
  return (desk, params) => {
    const sent = read(z.object({ ...PLACE, ...CAPTION }), params);
    return send(desk, { ...placeOf(desk, sent), ...captionOf(sent), ...fileOf(kind, params[kind]) });
  };
}

/** All of an album or nothing: every file is read before the first is shown. */
const sendMediaGroup: Method = (desk, params) => {
  const { media, ...sent } = read(z.object({ ...PLACE, media: json(ALBUM) }), params, 'InputMedia');
  if (sent.reply_markup !== undefined) throw badRequest('an album has no buttons');
  const all = media.map(({ media: named, ...one }) => {
    return { ...captionOf(one), ...fileOf('photo', params[named.replace('attach://', '')] ?? named) };
  });
  const place = placeOf(desk, sent);
  const album = randomUUID();
  return all.map((each) => send(desk, { ...place, ...each, album }));
};

const sendMessageDraft = method(
  { ...CHAT, ...FORMATTED, draft_id: z.int('RANDOM_ID_INVALID'), can_stop: flag, keep_on_stop: flag },
  ({ chats, drafts }, params) => {
    const chat = chats.find(params.chat_id);
    if (chat.type !== 'private') throw badRequest('TEXTDRAFT_PEER_INVALID');
    if (params.draft_id === 0) throw badRequest('RANDOM_ID_INVALID');
    drafts.show(chat.id, {
      ...formattedText(params, MESSAGE_MAX),
      draftId: params.draft_id,
      topicId: topicIn(chat, params.message_thread_id),
      canStop: params.can_stop,
      keepOnStop: params.keep_on_stop,
    });
  },
);

/** Changes a message: one of a chat, or one that stands where the bot is a guest. */
const editMessageText = method(
  {
    ...MESSAGE,
    ...FORMATTED,
    chat_id: integer.optional(),
    message_id: integer.default(0),
    inline_message_id: z.string().optional(),
  },
  (desk, { chat_id: chatId, message_id: messageId, inline_message_id: inlineId, reply_markup, ...sent }) => {
    const change = { ...messageText(desk, sent), replyMarkup: readMarkup(reply_markup) };
    if (inlineId !== undefined) return desk.summonses.edit(inlineId, change);
    return messageBody(desk.chats.edit(chatId ?? 0, messageId, change), desk.bot);
  },
);

const ARTICLE = z.object({
  type: z.literal('article'),
  id: z.string().refine((id) => id !== '' && Buffer.byteLength(id) <= ID_BYTES_MAX, 'RESULT_ID_INVALID'),
  title: z.string().min(1, 'Can\'t find field "title"'),
  input_message_content: z.object({ message_text: z.string(), entities: FORMATTED.entities }),
});

const METHODS: Readonly<Record<string, Method>> = {
  sendMessage: method({ ...PLACE, ...FORMATTED }, (desk, params) => {
    return send(desk, { ...placeOf(desk, params), ...messageText(desk, params) });
  }),
  sendRichMessage: (desk, params) => {
    const place = placeOf(desk, read(z.object(PLACE), params));
    const rich = read(richBlocks, params.rich_message, 'InputRichBlock');
    return send(desk, { ...place, rich, text: plainText(rich) });
  },
  sendPhoto: sendFile('photo'),
  sendAudio: sendFile('audio'),
  sendDocument: sendFile('document'),
  sendMediaGroup,
  sendMessageDraft,
  sendChatAction: method(
    { ...CHAT, action: z.literal('typing', 'wrong parameter action in request') },
    ({ chats }, params) => void topicIn(chats.find(params.chat_id), params.message_thread_id),
  ),
  editMessageText,
  editMessageReplyMarkup: method(MESSAGE, ({ chats, bot }, { chat_id, message_id, reply_markup }) => {
    return messageBody(chats.edit(chat_id, message_id, { replyMarkup: readMarkup(reply_markup) }), bot);
  }),
  deleteMessage: method(MESSAGE, ({ chats }, { chat_id, message_id }) => chats.delete(chat_id, message_id)),
  answerCallbackQuery: method(
    { callback_query_id: text.default(''), text: text.optional(), show_alert: flag },
    ({ presses }, params) => presses.answer(params.callback_query_id, params.text, params.show_alert),
  ),
  answerGuestQuery: method({ guest_query_id: text.default(''), result: json(z.unknown()) }, (desk, params) => {
    const { input_message_content: sent } = read(ARTICLE, params.result, 'inline query result');
    return desk.summonses.answer(params.guest_query_id, messageText(desk, { ...sent, text: sent.message_text }));
  }),
  getMe: ({ bot, hasPrivacy, isGuest }) => ({
    ...bot,
    can_join_groups: true,
    can_read_all_group_messages: !hasPrivacy,
    supports_guest_queries: isGuest,
  }),
  getUpdates: method(
    { offset: integer.default(0), limit: integer.default(100), timeout: integer.default(0), allowed_updates: KINDS },
    ({ webhook, updates }, { allowed_updates: kinds, ...wanted }, gone) => {
      webhook.refusePolling();
      updates.allow(kinds);
      return updates.poll(wanted, gone);
    },
  ),
  setWebhook: method(
    { url: z.string(), secret_token: z.string().optional(), allowed_updates: KINDS },
    ({ webhook, updates }, { url, secret_token: secret, allowed_updates: kinds }) => {
      webhook.set(url, secret);
      updates.allow(kinds);
    },
  ),
  deleteWebhook: ({ webhook }) => webhook.set('', undefined),
  getWebhookInfo: ({ webhook }) => webhook.info(),
  setMyCommands: method(MENU, ({ menus, chats }, { commands, scope, language_code: language }) => {
    const to = scope.type === 'chat' ? `chat:${chats.find(scope.chat_id).id}` : scope.type;
    if (commands.length === 0) menus.delete(`${to}/${language}`);
    else menus.set(`${to}/${language}`, commands);
  }),
  getFile: method({ file_id: text }, ({ files }, params) => files.describe(params.file_id)),
};

const BY_NAME = new Map(Object.entries(METHODS).map(([name, carryOut]) => [name.toLowerCase(), carryOut]));

/** The method of that name in any case, unless it came later than the server. */
export function methodNamed(name: string, { knows }: Desk): Method | undefined {
  const key = name.toLowerCase();
  return knows(SINCE[key] ?? 0) ? BY_NAME.get(key) : undefined;
}
