/** What a message can hold besides text, and where it can come from: fields for the `extra` of `say`. Join them with `...`. */
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

const SIDE = { width: 320, height: 320 };

/** A file in the field of its kind; `more` is what only this kind has. */
function media(kind: string, options: MediaOptions, more: Fields = {}): Fields {
  const { fileId = 'file-none', bytes, mimeType, fileName, caption, thumbnailId } = options;
  const file = {
    file_id: fileId,
    file_unique_id: `u-${fileId}`,
    ...(bytes !== undefined && { file_size: bytes }),
    ...(mimeType !== undefined && { mime_type: mimeType }),
    ...(fileName !== undefined && { file_name: fileName }),
    ...(thumbnailId !== undefined && { thumbnail: photoSize(thumbnailId, SIDE, 9_000) }),
    ...more,
  };
  return { [kind]: file, ...(caption !== undefined && { caption }) };
}

function photoSize(file_id: string, size: typeof SIDE, file_size: number): Fields {
  return { file_id, file_unique_id: `u-${file_id}`, ...size, file_size };
}

/** A voice message. */
export const voice = ({ durationS: duration = 3, ...options }: MediaOptions = {}): Fields =>
  media('voice', { mimeType: 'audio/ogg', ...options }, { duration });

/** An audio file, which may say what it is. */
export function audio(options: MediaOptions & { performer?: string; title?: string } = {}): Fields {
  const { durationS: duration = 3, performer, title, ...file } = options;
  const tags = { ...(performer !== undefined && { performer }), ...(title !== undefined && { title }) };
  return media('audio', { mimeType: 'audio/mpeg', ...file }, { duration, ...tags });
}

/** A video. */
export const video = ({ durationS: duration = 3, ...options }: MediaOptions = {}): Fields =>
  media('video', { mimeType: 'video/mp4', ...options }, { duration, ...SIDE });

/** A round video; it has no caption. */
export const videoNote = ({ durationS: duration = 3, ...options }: MediaOptions = {}): Fields =>
  media('video_note', options, { length: 240, duration });

/** A moving picture without sound, which is a document too. */
export function animation({ durationS: duration = 3, ...options }: MediaOptions = {}): Fields {
  const named = { mimeType: 'video/mp4', ...options };
  return { ...media('animation', named, { duration, ...SIDE }), ...media('document', named) };
}

/** A photo, which comes in several sizes. */
export function photo(fileId: string, { caption, bytes = 90_000 }: MediaOptions = {}): Fields {
  const small = photoSize(`${fileId}-small`, { width: 90, height: 60 }, 900);
  const large = photoSize(fileId, { width: 1280, height: 853 }, bytes);
  return { photo: [small, large], ...(caption !== undefined && { caption }) };
}

/** A file that was sent as such. */
export const document = (options: MediaOptions): Fields => media('document', options);

/** A formatted document that a person sends; it has no text. */
export const richMessage = (blocks: readonly object[]): Fields => ({ rich_message: { blocks } });

/** A block of a rich message with what `photo`, `video`, `voice` and the like of this file made. */
export function mediaBlock(fields: Fields, caption?: string): Fields {
  const [kind = '', medium] = Object.entries(fields)[0] ?? [];
  const type = kind === 'voice' ? 'voice_note' : kind;
  return { type, [type]: medium, ...(caption !== undefined && { caption: { text: caption } }) };
}

/** Where a message was first. */
export type Origin =
  | { type: 'user'; id: number; firstName: string }
  | { type: 'hidden_user'; name: string }
  | { type: 'chat' | 'channel'; id: number; title: string };

/** The origin of a message that was forwarded. `date` is in seconds. */
export function forwarded(origin: Origin, date = 1): Fields {
  const { type } = origin;
  if (type === 'user') return { forward_origin: { type, date, sender_user: userBody(origin.id, origin.firstName) } };
  if (type === 'hidden_user') return { forward_origin: { type, date, sender_user_name: origin.name } };
  const { id, title } = origin;
  const chat = { id, type: type === 'channel' ? type : 'supergroup', title };
  return { forward_origin: { type, date, ...(type === 'channel' ? { chat, message_id: 1 } : { sender_chat: chat }) } };
}
