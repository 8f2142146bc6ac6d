/** What a message can hold besides text, and where it can come from: fields for the `extra` of `say`. Join them with `...`. */
import type { Entity } from './entities.ts';
import { userBody } from './inbound.ts';

type Fields = Record<string, unknown>;

/** A file that `addFile` has stored, with what its sender's app says about it. */
export interface MediaOptions {
  fileId?: string;
  bytes?: number;
  durationS?: number;
  mimeType?: string;
  fileName?: string;
  caption?: string;
  /** The file id of a small picture of it. */
  thumbnailId?: string;
}

const SIDE = 320;

function fileFields({ fileId = 'file-none', bytes, mimeType, fileName, thumbnailId }: MediaOptions): Fields {
  return {
    file_id: fileId,
    file_unique_id: `u-${fileId}`,
    ...(bytes !== undefined && { file_size: bytes }),
    ...(mimeType !== undefined && { mime_type: mimeType }),
    ...(fileName !== undefined && { file_name: fileName }),
    ...(thumbnailId !== undefined && { thumbnail: photoSize(thumbnailId) }),
  };
}

function photoSize(fileId: string): Fields {
  return { file_id: fileId, file_unique_id: `u-${fileId}`, width: SIDE, height: SIDE, file_size: 9_000 };
}

const captioned = ({ caption }: MediaOptions): Fields => (caption === undefined ? {} : { caption });

export function voice(options: MediaOptions = {}): Fields {
  const { durationS: duration = 3, mimeType = 'audio/ogg' } = options;
  return { voice: { ...fileFields({ ...options, mimeType }), duration }, ...captioned(options) };
}

export function audio(options: MediaOptions & { performer?: string; title?: string } = {}): Fields {
  const { durationS: duration = 3, mimeType = 'audio/mpeg', performer, title } = options;
  const tags = { ...(performer !== undefined && { performer }), ...(title !== undefined && { title }) };
  return { audio: { ...fileFields({ ...options, mimeType }), duration, ...tags }, ...captioned(options) };
}

export function video(options: MediaOptions = {}): Fields {
  const { durationS: duration = 3, mimeType = 'video/mp4' } = options;
  const size = { width: SIDE, height: SIDE };
  return { video: { ...fileFields({ ...options, mimeType }), duration, ...size }, ...captioned(options) };
}

/** A round video; it has no caption. */
export function videoNote(options: MediaOptions = {}): Fields {
  return { video_note: { ...fileFields(options), length: 240, duration: options.durationS ?? 3 } };
}

/** A moving picture without sound, which is a document too. */
export function animation(options: MediaOptions = {}): Fields {
  const { durationS: duration = 3, mimeType = 'video/mp4' } = options;
  const document = fileFields({ ...options, mimeType });
  return { animation: { ...document, duration, width: SIDE, height: SIDE }, document, ...captioned(options) };
}

/** A picture that moves for a moment; the still picture is a photo too. */
export function livePhoto(stillId: string, options: MediaOptions = {}): Fields {
  const photo = [photoSize(stillId)];
  const size = { width: SIDE, height: SIDE, duration: options.durationS ?? 3 };
  return { live_photo: { photo, ...fileFields(options), ...size }, photo, ...captioned(options) };
}

/** A photo, which comes in several sizes. */
export function photo(fileId: string, { caption, bytes }: MediaOptions = {}): Fields {
  const small = {
    file_id: `${fileId}-small`,
    file_unique_id: `u-${fileId}-small`,
    width: 90,
    height: 60,
    file_size: 900,
  };
  const large = {
    file_id: fileId,
    file_unique_id: `u-${fileId}`,
    width: 1280,
    height: 853,
    file_size: bytes ?? 90_000,
  };
  return { photo: [small, large], ...captioned({ ...(caption !== undefined && { caption }) }) };
}

/** A file that was sent as such. */
export function document(options: MediaOptions): Fields {
  return { document: fileFields(options), ...captioned(options) };
}

export function sticker(emoji: string, setName?: string, options: MediaOptions = {}): Fields {
  const kind = { type: 'regular', width: 512, height: 512, is_animated: false, is_video: false };
  return { sticker: { ...fileFields(options), ...kind, emoji, ...(setName !== undefined && { set_name: setName }) } };
}

export function location(latitude: number, longitude: number): Fields {
  return { location: { latitude, longitude } };
}

/** A place with a name; it is a location too. */
export function venue(title: string, address: string, latitude: number, longitude: number): Fields {
  const place = location(latitude, longitude);
  return { venue: { ...place, title, address }, ...place };
}

export function contact(firstName: string, phoneNumber: string, lastName?: string): Fields {
  const name = { first_name: firstName, ...(lastName !== undefined && { last_name: lastName }) };
  return { contact: { phone_number: phoneNumber, ...name } };
}

export function poll(question: string, options: readonly string[]): Fields {
  const state = { total_voter_count: 0, is_closed: false, is_anonymous: true, type: 'regular' };
  const rules = { allows_multiple_answers: false, allows_revoting: true, members_only: false };
  const list = options.map((text, at) => ({ persistent_id: String(at), text, voter_count: 0 }));
  return { poll: { id: '5', question, options: list, ...state, ...rules } };
}

export function dice(emoji: string, value: number): Fields {
  return { dice: { emoji, value } };
}

/** A list of things to do; a text with a mark before it is done. */
export function checklist(title: string, tasks: readonly (string | { text: string; isDone: boolean })[]): Fields {
  const list = tasks.map((task, at) => {
    const { text, isDone } = typeof task === 'string' ? { text: task, isDone: false } : task;
    return { id: at + 1, text, ...(isDone && { completed_by_user: userBody(1), completion_date: 1 }) };
  });
  return { checklist: { title, tasks: list } };
}

/** A formatted document that a person sends; it has no text. */
export function richMessage(blocks: readonly object[], isRtl = false): Fields {
  return { rich_message: { blocks, ...(isRtl && { is_rtl: true }) } };
}

/** A block of a rich message with what `photo`, `video`, `voice` and the like of this file made. */
export function mediaBlock(media: Fields, caption?: string): Fields {
  const [kind = '', medium] = Object.entries(media)[0] ?? [];
  const type = kind === 'voice' ? 'voice_note' : kind;
  return { type, [type]: medium, ...(caption !== undefined && { caption: { text: caption } }) };
}

/** A name in a rich text that the server took for a mention. */
export function richMention(username: string): Fields {
  return { type: 'mention', text: `@${username}`, username };
}

/** A group joins a community, or leaves it: nobody wrote that. */
export function communityEvent(what: 'added' | 'removed'): Fields {
  return { [`community_chat_${what}`]: { community: { id: 77, title: 'Neighbours' } } };
}

/** Where a message was first. */
export type Origin =
  | { type: 'user'; id: number; firstName: string }
  | { type: 'hidden_user'; name: string }
  | { type: 'chat' | 'channel'; id: number; title: string; signature?: string };

/** The origin of a message that was forwarded. `date` is in seconds. */
export function forwarded(origin: Origin, date = 1): Fields {
  return { forward_origin: originBody(origin, date) };
}

function originBody(origin: Origin, date: number): Fields {
  switch (origin.type) {
    case 'user':
      return { type: 'user', date, sender_user: userBody(origin.id, origin.firstName) };
    case 'hidden_user':
      return { type: 'hidden_user', date, sender_user_name: origin.name };
  }
  const { type, id, title, signature } = origin;
  const signed = signature === undefined ? {} : { author_signature: signature };
  return type === 'channel'
    ? { type, date, chat: { id, type, title }, message_id: 1, ...signed }
    : { type, date, sender_chat: { id, type: 'supergroup', title }, ...signed };
}

/** The part of the answered message that its sender chose. */
export function quote(text: string, position = 0, entities?: Entity[]): Fields {
  return { quote: { text, position, is_manual: true, ...(entities && { entities }) } };
}

/** An answer to a message of another chat or topic, with what that message held. A text stands in `quote` then. */
export function externalReply(origin: Origin, content: Fields = {}): Fields {
  return { external_reply: { origin: originBody(origin, 1), ...content } };
}
