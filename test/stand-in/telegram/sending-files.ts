/**
 * The methods that send a file. Ruder than the real server, which makes a document of some photo or audio that it cannot
 * show: this one refuses whatever the documents do not promise to be shown as that.
 */
import { randomUUID } from 'node:crypto';
import { imageFacts } from '../claude/images.ts';
import type { ShownFile } from './chats.ts';
import { type Desk, type Method, placeOf, send } from './desk.ts';
import { objectOf, reading, textField } from './fields.ts';
import { formattedText } from './formatted.ts';
import { asJson, asText, type Params, type Upload } from './params.ts';
import { badRequest, RefusedError } from './refusal.ts';

const CAPTION_UNITS_MAX = 1024;
const FILE_BYTES_MAX = 50 * 1024 * 1024;
const PHOTO_BYTES_MAX = 10 * 1024 * 1024;
const PHOTO_SIDES_PX_MAX = 10_000;
const PHOTO_RATIO_MAX = 20;
/** A larger photo is scaled down to this. */
const PHOTO_SHOWN_PX = 2_560;
const PHOTO_NAME = /\.(?:jpe?g|png|webp)$/i;
const AUDIO_NAME = /\.(?:mp3|m4a|ogg)$/i;
/** An ID3 tag, a frame of MPEG, a container of MPEG-4, one of Ogg. */
const AUDIO_BEGINS = /^(?:ID3|\xff[\xe2-\xff]|.{4}ftyp|OggS)/s;

type ReadFile = (upload: Upload | string) => ShownFile;

/** A method that sends the file in that field. */
function sendingFile(field: keyof ShownFile, read: ReadFile): Method {
  return (desk: Desk, params: Params) => {
    const caption = formattedText(params, 'caption', 'caption_entities', desk.version);
    const place = placeOf(desk, params);
    const upload = params[field] as Upload | string | undefined;
    if (upload === undefined || upload === '') throw badRequest(`there is no ${field} in the request`);
    if (caption.text.length > CAPTION_UNITS_MAX) throw badRequest('message caption is too long');
    const bytes = isUpload(upload) ? upload.bytes.length : undefined;
    if (bytes === 0) throw badRequest('file must be non-empty');
    if (bytes !== undefined && bytes > FILE_BYTES_MAX) {
      throw new RefusedError({ status: 413, description: 'Request Entity Too Large' });
    }
    return send(desk, { ...place, ...caption, file: read(upload) });
  };
}

const isUpload = (upload: Upload | string): upload is Upload =>
  typeof upload === 'object' && Buffer.isBuffer(upload.bytes);

/** Only what is uploaded can be judged, so no id and no address is taken where a file has to be of a kind. */
function uploaded(upload: Upload | string): Upload {
  if (!isUpload(upload)) throw badRequest('wrong file identifier/HTTP URL specified');
  return upload;
}

const readDocument: ReadFile = (upload) => ({
  document: isUpload(upload) ? { name: upload.name, bytes: upload.bytes.length } : { name: String(upload), bytes: 0 },
});

const readPhoto: ReadFile = (upload) => {
  const { name, bytes } = uploaded(upload);
  if (bytes.length > PHOTO_BYTES_MAX) {
    const most = `the maximum size is ${PHOTO_BYTES_MAX} bytes`;
    throw badRequest(`file of size ${bytes.length} bytes is too big for a photo; ${most}`);
  }
  if (!PHOTO_NAME.test(name)) throw badRequest('PHOTO_EXT_INVALID');
  const facts = imageFacts(bytes);
  if (facts === undefined || facts.mediaType === 'image/gif') throw badRequest('IMAGE_PROCESS_FAILED');
  const { width, height } = facts;
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  if (short === 0 || width + height > PHOTO_SIDES_PX_MAX || long > short * PHOTO_RATIO_MAX) {
    throw badRequest('PHOTO_INVALID_DIMENSIONS');
  }
  const scale = Math.min(1, PHOTO_SHOWN_PX / long);
  const shown = (side: number) => Math.max(1, Math.round(side * scale));
  return { photo: { width: shown(width), height: shown(height), bytes: bytes.length } };
};

const readAudio: ReadFile = (upload) => {
  const { name, bytes } = uploaded(upload);
  const isAudio = AUDIO_NAME.test(name) && AUDIO_BEGINS.test(bytes.toString('latin1', 0, 12));
  if (!isAudio) throw badRequest('AUDIO_EXT_INVALID');
  return { audio: { name, bytes: bytes.length } };
};

const READERS: Readonly<Record<string, ReadFile>> = { photo: readPhoto, document: readDocument, audio: readAudio };
const ALBUM = { min: 2, max: 10 };

/** One of an album: a file of the same form by its name, `attach://…`. */
function readMedia(sent: unknown, params: Params, version: Desk['version']) {
  const media = reading("can't parse InputMedia", () => objectOf(sent));
  const kind = reading("can't parse InputMedia", () => textField(media, 'type'));
  const read = READERS[kind];
  if (read === undefined) throw badRequest("can't parse InputMedia: type must be one of photo, document, audio");
  const caption = formattedText(media, 'caption', 'caption_entities', version);
  if (caption.text.length > CAPTION_UNITS_MAX) throw badRequest('message caption is too long');
  const named = /^attach:\/\/(.+)$/.exec(asText(media.media) ?? '')?.[1];
  return { kind, ...caption, file: read(uploaded((params[named ?? ''] ?? '') as Upload | string)) };
}

/** All of an album or nothing: every file is read before the first is shown. It has no buttons. */
const sendMediaGroup: Method = (desk, { reply_markup: _, ...params }) => {
  const media = asJson(params.media);
  if (!Array.isArray(media)) throw badRequest("can't parse media JSON object");
  if (media.length < ALBUM.min) throw badRequest('There are no messages to send');
  if (media.length > ALBUM.max) throw badRequest('Too many messages to send as an album');
  const all = media.map((one) => readMedia(one, params, desk.version));
  if (new Set(all.map(({ kind }) => kind)).size > 1)
    throw badRequest('Documents and audio can only be in an album of their own');
  const place = placeOf(desk, params);
  const album = randomUUID();
  return all.map(({ kind: _kind, ...each }) => send(desk, { ...place, ...each, album }));
};

/** By their names in lower case. */
export const SENDING_FILES: Readonly<Record<string, Method>> = {
  senddocument: sendingFile('document', readDocument),
  sendphoto: sendingFile('photo', readPhoto),
  sendaudio: sendingFile('audio', readAudio),
  sendmediagroup: sendMediaGroup,
};
