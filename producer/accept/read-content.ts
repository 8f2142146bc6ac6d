import type { Message, MessageOrigin, User } from '@grammyjs/types';
import { isFields } from '../../shared/base/fields.ts';
import { graphemePrefix, isBlank } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import {
  type DescribedKind,
  fileOf,
  inWords,
  lineOf,
  MOVING,
  mediaInWords,
  type RawMessage,
  soundOf,
  UNSUPPORTED,
  wellFormed,
} from './raw-message.ts';
import { type RichContent, readRich } from './read-rich.ts';

/** The content of a message, with long texts cut; `undefined` for a service message or a blank text. Pure, never throws. */
export function contentOf(message: RawMessage, textMaxChars: number): InboundMessage['content'] | undefined {
  const text = textOf(message.text);
  if (text !== '') return { kind: 'text', text: cap(text, textMaxChars) };
  const caption = textOf(message.caption);
  const file = fileOf(message);
  const spoken = soundOf(message);
  const recording = spoken && { sound: spoken.sound };
  if (file) return { kind: 'file', text: cap(caption, textMaxChars), file, ...recording };
  if (spoken) {
    const words = caption === '' ? {} : { text: cap(caption, textMaxChars) };
    return { kind: 'unsupported', what: spoken.what, ...words, ...recording };
  }
  const described = inWords(message) ?? describeVideo(message, caption);
  if (described !== undefined) return { kind: 'text', text: cap(described, textMaxChars) };
  const rich = readRich(message.rich_message);
  if (rich.text !== '') return { kind: 'text', ...richOf(rich, textMaxChars) };
  const what = UNSUPPORTED.find((kind) => kind in message);
  if (what !== undefined) return { kind: 'unsupported', what };
  // Blank texts and service messages get no answer. Nobody can forward a service message, so a forwarded message never counts
  // as one. Any other content comes from a person, and is of a kind that this version does not know.
  const isService = !('forward_origin' in message) && Object.keys(SERVICE_FIELDS).some((field) => field in message);
  const isIgnored = 'text' in message || isService;
  return isIgnored ? undefined : { kind: 'unsupported', what: 'unknown' };
}

function richOf({ text, files, sound }: RichContent, textMaxChars: number) {
  return { text: cap(wellFormed(text), textMaxChars), ...(files.length > 0 && { files }), ...(sound && { sound }) };
}

/** The description of a video or an animation that has no thumbnail, and its caption; `undefined` for other messages. */
function describeVideo(message: RawMessage, caption: string): string | undefined {
  const words = MOVING.some((kind) => kind in message) ? mediaInWords(message) : undefined;
  return words && [`${words}\n(it cannot be shown)`, caption].filter((line) => line !== '').join('\n');
}

/** The text in well-formed Unicode; empty for a blank text or a value that is not a string. */
function textOf(text: unknown): string {
  const whole = typeof text === 'string' ? wellFormed(text) : '';
  return isBlank(whole) ? '' : whole;
}

/** Cuts a text that is longer than `maxChars`, and appends a note with its original length. Never cuts inside a character. */
function cap(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${graphemePrefix(text, maxChars)}\n[message cut: ${text.length} characters were sent]`;
}

type ReadField = 'text' | 'entities' | 'rich_message' | DescribedKind | (typeof UNSUPPORTED)[number];

/**
 * The fields of service messages. Nobody wrote such a message: it reports, for example, that somebody joined or that the title
 * changed, and gets no answer. If `Message` gets a new field that `MediaMessage` lacks, this file does not compile until the
 * field is listed here or in `ReadField`.
 */
const SERVICE_FIELDS: Readonly<Record<Exclude<keyof Message, keyof Message.MediaMessage | ReadField>, true>> = {
  boost_added: true,
  channel_chat_created: true,
  chat_background_set: true,
  chat_owner_changed: true,
  chat_owner_left: true,
  chat_shared: true,
  checklist_tasks_added: true,
  checklist_tasks_done: true,
  community_chat_added: true,
  community_chat_joined: true,
  community_chat_removed: true,
  connected_website: true,
  delete_chat_photo: true,
  direct_message_price_changed: true,
  forum_topic_closed: true,
  forum_topic_created: true,
  forum_topic_edited: true,
  forum_topic_reopened: true,
  general_forum_topic_hidden: true,
  general_forum_topic_unhidden: true,
  gift: true,
  gift_upgrade_sent: true,
  giveaway_completed: true,
  giveaway_created: true,
  group_chat_created: true,
  left_chat_member: true,
  managed_bot_created: true,
  message_auto_delete_timer_changed: true,
  migrate_from_chat_id: true,
  migrate_to_chat_id: true,
  new_chat_members: true,
  new_chat_photo: true,
  new_chat_title: true,
  paid_message_price_changed: true,
  passport_data: true,
  pinned_message: true,
  poll_option_added: true,
  poll_option_deleted: true,
  proximity_alert_triggered: true,
  refunded_payment: true,
  successful_payment: true,
  suggested_post_approval_failed: true,
  suggested_post_approved: true,
  suggested_post_declined: true,
  suggested_post_info: true,
  suggested_post_paid: true,
  suggested_post_refunded: true,
  supergroup_chat_created: true,
  unique_gift: true,
  users_shared: true,
  video_chat_ended: true,
  video_chat_participants_invited: true,
  video_chat_scheduled: true,
  video_chat_started: true,
  web_app_data: true,
  write_access_allowed: true,
};

const QUOTED_CHARS = 1_000;

/**
 * The context of a message. For a reply: the author of the earlier message, its text or the quoted words, and its picture or
 * file. For a forwarded message: the original author. Pure.
 */
export function contextOf(message: RawMessage, botId: number): Pick<InboundMessage, 'answers' | 'forwardedFrom'> {
  const answers = answeredBy(message, botId);
  const origin = isFields(message.forward_origin) ? originOf(message.forward_origin) : undefined;
  return { ...(answers && { answers }), ...(origin !== undefined && { forwardedFrom: origin }) };
}

function answeredBy(message: RawMessage, botId: number): InboundMessage['answers'] {
  const replied = [message.reply_to_message, message.external_reply].find(isFields);
  // In a topic, a message that answers no other message is a reply to the service message that opened the topic.
  if (replied === undefined || 'forum_topic_created' in replied) return undefined;
  const quote = isFields(message.quote) ? trimmedText(message.quote.text) : '';
  const text = quote === '' ? wordsOf(replied) : quote;
  const file = fileOf(replied) ?? readRich(replied.rich_message).files[0];
  const from = isFields(replied.from) ? replied.from : undefined;
  const by =
    from?.id === botId
      ? undefined
      : (nameOf(from) ?? (isFields(replied.origin) ? originOf(replied.origin) : undefined));
  return {
    ...(by !== undefined && { by }),
    ...(from?.id === botId && { isOurs: true as const }),
    ...(quote !== '' && { isQuote: true as const }),
    text: graphemePrefix(text === '' ? '(no text)' : text, QUOTED_CHARS),
    ...(file && { file }),
  };
}

function wordsOf(replied: Unchecked<Message>): string {
  const { text, caption, rich_message: rich } = replied;
  const words = [trimmedText(text), trimmedText(caption), readRich(rich).text].find((each) => each !== '');
  return words ?? inWords(replied) ?? mediaInWords(replied) ?? '';
}

function trimmedText(text: unknown): string {
  return typeof text === 'string' ? wellFormed(text).trim() : '';
}

function nameOf(user: Unchecked<User> | undefined): string | undefined {
  const name = lineOf(user?.first_name);
  return name === '' ? undefined : name;
}

/** The name of a message's original author: a person, a group or a channel; `somebody` if Telegram reports no name. */
function originOf(origin: Unchecked<MessageOrigin>): string {
  const { sender_user: user, sender_user_name: hidden, sender_chat: group, chat } = origin;
  const place = [group, chat].find(isFields);
  return (
    nameOf(isFields(user) ? user : undefined) ??
    ([hidden, place?.title].map(lineOf).find((name) => name !== '') || 'somebody')
  );
}
