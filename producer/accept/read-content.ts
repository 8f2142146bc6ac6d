import { isFields } from '../../shared/base/fields.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { fileOf, inWords, lineOf, MOVING, mediaInWords, type RawMessage, soundOf, wellFormed } from './raw-message.ts';
import { type RichContent, readRich } from './read-rich.ts';

/** Kinds of content that people send and deserve an answer to, although this version cannot read them. */
const UNSUPPORTED = [
  'animation',
  'audio',
  'document',
  'game',
  'live_photo',
  'paid_media',
  'photo',
  'story',
  'video',
  'video_note',
  'voice',
] as const;

/** What a message says or brings; `undefined` for a service message. Long texts are cut. Pure, never throws. */
export function contentOf(message: RawMessage, textMaxChars: number): InboundMessage['content'] | undefined {
  const text = writtenText(message.text);
  if (text !== '') return { kind: 'text', text: capped(text, textMaxChars) };
  const caption = writtenText(message.caption);
  const file = fileOf(message);
  const spoken = soundOf(message);
  const heard = spoken && { sound: spoken.sound };
  if (file) return { kind: 'file', text: capped(caption, textMaxChars), file, ...heard };
  if (spoken) {
    const words = caption === '' ? {} : { text: capped(caption, textMaxChars) };
    return { kind: 'unsupported', what: spoken.what, ...words, ...heard };
  }
  const described = inWords(message) ?? unseen(message, caption);
  if (described !== undefined) return { kind: 'text', text: capped(described, textMaxChars) };
  const rich = readRich(message.rich_message);
  if (rich.text !== '') return { kind: 'text', ...richOf(rich, textMaxChars) };
  const what = UNSUPPORTED.find((kind) => kind in message);
  if (what !== undefined) return { kind: 'unsupported', what };
  // A blank text is nothing to answer. What is neither that nor a service message is new to us, and somebody wrote it.
  const isNobodys = 'text' in message || SERVICE_FIELDS.some((field) => field in message);
  return isNobodys ? undefined : { kind: 'unsupported', what: 'unknown' };
}

function richOf({ text, files, sound }: RichContent, textMaxChars: number) {
  return { text: capped(wellFormed(text), textMaxChars), ...(files.length > 0 && { files }), ...(sound && { sound }) };
}

/** A video without a thumbnail: the model learns that there is one. */
function unseen(message: RawMessage, caption: string): string | undefined {
  const words = MOVING.some((kind) => kind in message) ? mediaInWords(message) : undefined;
  return words && [`${words}\n(it cannot be shown)`, caption].filter((line) => line !== '').join('\n');
}

/** Blank text counts as absent. */
function writtenText(text: unknown): string {
  const written = typeof text === 'string' ? wellFormed(text) : '';
  return written.trim() === '' ? '' : written;
}

/**
 * Caps a text once, at the first write, with a marker that states the original length. Never cuts inside a character.
 */
function capped(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${graphemePrefix(text, maxChars)}\n[message cut: ${text.length} characters were sent]`;
}

/**
 * The fields by which Telegram marks a message that nobody wrote: somebody joined, a title changed. Bot API 10.3. Such
 * a message gets no answer; a message without any of them, and without content that we know, does.
 */
export const SERVICE_FIELDS = [
  'boost_added',
  'channel_chat_created',
  'chat_background_set',
  'chat_owner_changed',
  'chat_owner_left',
  'chat_shared',
  'checklist_tasks_added',
  'checklist_tasks_done',
  'community_chat_added',
  'community_chat_joined',
  'community_chat_removed',
  'connected_website',
  'delete_chat_photo',
  'direct_message_price_changed',
  'forum_topic_closed',
  'forum_topic_created',
  'forum_topic_edited',
  'forum_topic_reopened',
  'general_forum_topic_hidden',
  'general_forum_topic_unhidden',
  'gift',
  'gift_upgrade_sent',
  'giveaway',
  'giveaway_completed',
  'giveaway_created',
  'giveaway_winners',
  'group_chat_created',
  'invoice',
  'left_chat_member',
  'managed_bot_created',
  'message_auto_delete_timer_changed',
  'migrate_from_chat_id',
  'migrate_to_chat_id',
  'new_chat_members',
  'new_chat_photo',
  'new_chat_title',
  'paid_message_price_changed',
  'passport_data',
  'pinned_message',
  'poll_option_added',
  'poll_option_deleted',
  'proximity_alert_triggered',
  'refunded_payment',
  'successful_payment',
  'suggested_post_approval_failed',
  'suggested_post_approved',
  'suggested_post_declined',
  'suggested_post_info',
  'suggested_post_paid',
  'suggested_post_refunded',
  'supergroup_chat_created',
  'unique_gift',
  'users_shared',
  'video_chat_ended',
  'video_chat_participants_invited',
  'video_chat_scheduled',
  'video_chat_started',
  'web_app_data',
  'write_access_allowed',
] as const;

type Fields = Record<string, unknown>;

const QUOTED_CHARS = 1_000;

/**
 * What a message refers to: the message that it answers with its picture or file, the words that it quotes, where it
 * was forwarded from. Pure.
 */
export function contextOf(message: RawMessage, botId: number): Pick<InboundMessage, 'answers' | 'forwardedFrom'> {
  const answers = answeredBy(message, botId);
  const origin = isFields(message.forward_origin) ? originOf(message.forward_origin) : undefined;
  return { ...(answers && { answers }), ...(origin !== undefined && { forwardedFrom: origin }) };
}

function answeredBy(message: RawMessage, botId: number): InboundMessage['answers'] {
  const replied = [message.reply_to_message, message.external_reply].find(isFields);
  // Each message of a topic is a reply to the service message that opened the topic.
  if (replied === undefined || 'forum_topic_created' in replied) return undefined;
  const quote = isFields(message.quote) ? written(message.quote.text) : '';
  const text = quote === '' ? said(replied) : quote;
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

function said(replied: Fields): string {
  const { text, caption, rich_message: rich } = replied;
  const words = [written(text), written(caption), readRich(rich).text].find((each) => each !== '');
  return words ?? inWords(replied) ?? mediaInWords(replied) ?? '';
}

function written(text: unknown): string {
  return typeof text === 'string' ? wellFormed(text).trim() : '';
}

function nameOf(user: Fields | undefined): string | undefined {
  const name = lineOf(user?.first_name);
  return name === '' ? undefined : name;
}

/** Who wrote what was forwarded: a person, a person who hides, a chat, a channel. */
function originOf({ sender_user: user, sender_user_name: hidden, sender_chat: group, chat }: Fields): string {
  const place = [group, chat].find(isFields);
  return (
    nameOf(isFields(user) ? user : undefined) ??
    ([hidden, place?.title].map(lineOf).find((name) => name !== '') || 'somebody')
  );
}
