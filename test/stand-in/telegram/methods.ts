/** The Bot API methods that a gateway needs. Each answers its result, or throws the error that the API would answer. */
import { type Chat, type Chats, messageBody, type Outgoing, type ShownMessage } from './chats.ts';
import type { Files } from './files.ts';
import { visibleText } from './formatting.ts';
import { asFlag, asInteger, asJson, asText, type Params, type Upload } from './params.ts';
import { badRequest } from './refusal.ts';
import type { UpdateQueue } from './updates.ts';
import type { Webhook } from './webhook.ts';

/** What a method works on. `gone` aborts when the caller's connection ends. */
export interface Desk {
  readonly bot: Record<string, unknown>;
  readonly chats: Chats;
  readonly files: Files;
  readonly updates: UpdateQueue;
  readonly webhook: Webhook;
  commands: unknown[];
}

type Method = (desk: Desk, params: Params, gone: AbortSignal) => unknown;

const TEXT_UNITS_MAX = 4096;
const CAPTION_UNITS_MAX = 1024;
const COMMANDS_MAX = 100;
const ACTIONS = new Set(
  'typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker find_location record_video_note upload_video_note'.split(
    ' ',
  ),
);

function requiredText({ text, parse_mode }: Params): string {
  // The API drops white space at both ends, so only white space is no text at all.
  const visible = visibleText(asText(text) ?? '', asText(parse_mode)).trim();
  if (visible === '') throw badRequest('message text is empty');
  if (visible.length > TEXT_UNITS_MAX) throw badRequest('message is too long');
  return visible;
}

/** The entities of a text, each inside it: one that reaches further is somebody's wrong sum. */
function entitiesOf(params: Params, text: string): unknown[] | undefined {
  const entities = listOf(params, 'entities');
  for (const entity of (entities ?? []) as Params[]) {
    const offset = asInteger(entity?.offset) ?? -1;
    const length = asInteger(entity?.length) ?? -1;
    if (asText(entity?.type) === undefined || offset < 0 || length < 1 || offset + length > text.length) {
      throw badRequest("can't parse MessageEntity: wrong type, offset or length specified");
    }
  }
  return entities;
}

function kinds(params: Params): string[] | undefined {
  const value = asJson(params.allowed_updates);
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw badRequest("can't parse allowed_updates: expected an Array of String");
  return value.map(String);
}

function listOf(params: Params, key: string): unknown[] | undefined {
  const value = asJson(params[key]);
  return Array.isArray(value) ? value : undefined;
}

function placeOf(desk: Desk, params: Params): Omit<Outgoing, 'text'> {
  const chat = desk.chats.find(asInteger(params.chat_id));
  const reply = (asJson(params.reply_parameters) ?? {}) as Params;
  return {
    chatId: chat.id,
    topicId: asInteger(params.message_thread_id),
    replyTo: asInteger(reply.message_id),
    replyMayMiss: asFlag(reply.allow_sending_without_reply),
    isSilent: asFlag(params.disable_notification),
    replyMarkup: asJson(params.reply_markup),
  };
}

const described = (desk: Desk, { chat, message }: { chat: Chat; message: ShownMessage }) =>
  messageBody(chat, message, desk.bot);

const getUpdates: Method = (desk, params, gone) => {
  desk.webhook.refusePolling();
  desk.updates.allow(kinds(params));
  return desk.updates.poll(
    {
      offset: asInteger(params.offset) ?? 0,
      limit: asInteger(params.limit) ?? 100,
      timeoutS: asInteger(params.timeout) ?? 0,
    },
    gone,
  );
};

const sendMessage: Method = (desk, params) => {
  const place = placeOf(desk, params);
  const text = requiredText(params);
  return described(desk, desk.chats.send({ ...place, text, entities: entitiesOf(params, text) }));
};

const editMessageText: Method = (desk, params) => {
  const chat = desk.chats.find(asInteger(params.chat_id));
  const messageId = asInteger(params.message_id);
  if (messageId === undefined) throw badRequest('message identifier is not specified');
  const text = requiredText(params);
  const change = {
    text,
    entities: entitiesOf(params, text),
    replyMarkup: asJson(params.reply_markup),
  };
  return described(desk, desk.chats.edit(chat.id, messageId, change));
};

const deleteMessage: Method = (desk, params) => {
  desk.chats.delete(desk.chats.find(asInteger(params.chat_id)).id, asInteger(params.message_id) ?? 0);
  return true;
};

/** A preview beside a private chat, which nothing keeps. */
const sendMessageDraft: Method = (desk, params) => {
  const chat = desk.chats.find(asInteger(params.chat_id));
  if (chat.type !== 'private') throw badRequest('chat must be a private chat');
  const topicId = asInteger(params.message_thread_id);
  if (topicId !== undefined && !chat.topics.has(topicId)) throw badRequest('message thread not found');
  const draftId = asInteger(params.draft_id);
  if (draftId === undefined || draftId === 0) throw badRequest('draft identifier must be non-zero');
  const text = visibleText(asText(params.text) ?? '', asText(params.parse_mode));
  if (text.length > TEXT_UNITS_MAX) throw badRequest('message is too long');
  return true;
};

const sendDocument: Method = (desk, params) => {
  const place = placeOf(desk, params);
  const upload = params.document as Upload | string | undefined;
  if (upload === undefined || upload === '') throw badRequest('there is no document in the request');
  const caption = visibleText(asText(params.caption) ?? '', asText(params.parse_mode));
  if (caption.length > CAPTION_UNITS_MAX) throw badRequest('message caption is too long');
  const isUpload = typeof upload === 'object' && Buffer.isBuffer(upload.bytes);
  const document = isUpload ? { name: upload.name, bytes: upload.bytes.length } : { name: String(upload), bytes: 0 };
  if (isUpload && document.bytes === 0) throw badRequest('file must be non-empty');
  return described(desk, desk.chats.send({ ...place, text: caption, document }));
};

const sendChatAction: Method = (desk, params) => {
  desk.chats.find(asInteger(params.chat_id));
  if (!ACTIONS.has(asText(params.action) ?? '')) throw badRequest('wrong parameter action in request');
  return true;
};

const setMyCommands: Method = (desk, params) => {
  const commands = asJson(params.commands);
  if (!Array.isArray(commands)) throw badRequest("can't parse commands JSON object");
  if (commands.length > COMMANDS_MAX) throw badRequest('BOT_COMMANDS_TOO_MUCH');
  for (const { command, description } of commands as Params[]) {
    if (!/^[a-z0-9_]{1,32}$/.test(String(command))) throw badRequest('BOT_COMMAND_INVALID');
    if (!/^[\s\S]{1,256}$/u.test(String(description ?? ''))) throw badRequest('BOT_COMMAND_DESCRIPTION_INVALID');
  }
  desk.commands = commands;
  return true;
};

const setWebhook: Method = (desk, params) => {
  const allowed = kinds(params);
  desk.webhook.set(asText(params.url) ?? '', asText(params.secret_token));
  desk.updates.allow(allowed);
  if (asFlag(params.drop_pending_updates)) desk.updates.drop();
  return true;
};

const deleteWebhook: Method = (desk, params) => {
  desk.webhook.set('', undefined);
  if (asFlag(params.drop_pending_updates)) desk.updates.drop();
  return true;
};

const METHODS: Readonly<Record<string, Method>> = {
  getme: ({ bot }) => ({ ...bot, can_join_groups: true, can_read_all_group_messages: false }),
  getupdates: getUpdates,
  sendmessage: sendMessage,
  editmessagetext: editMessageText,
  deletemessage: deleteMessage,
  senddocument: sendDocument,
  sendchataction: sendChatAction,
  sendmessagedraft: sendMessageDraft,
  setmycommands: setMyCommands,
  getfile: ({ files }, params) => files.describe(asText(params.file_id) ?? ''),
  setwebhook: setWebhook,
  deletewebhook: deleteWebhook,
  getwebhookinfo: ({ webhook, updates }) => webhook.info(updates.pending(), updates.allowed),
};

/** The method of that name; names are read without regard to case, as the API reads them. */
export function methodNamed(name: string): Method | undefined {
  return Object.hasOwn(METHODS, name.toLowerCase()) ? METHODS[name.toLowerCase()] : undefined;
}
