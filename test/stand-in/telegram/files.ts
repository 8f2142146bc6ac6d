/**
 * Files, sent by people and by the bot. Ruder than the real server, which makes a document of some photo or audio that it
 * cannot show: this one refuses whatever the documents do not promise to be shown as that.
 */
import { readImageHeader } from '../../../worker/model/media-header.ts';
import type { Body, ShownFile } from './chats.ts';
import type { Upload } from './params.ts';
import { badRequest, RefusedError } from './refusal.ts';

/** A bot downloads at most this much; the API refuses to name a path for more. */
const DOWNLOAD_BYTES_MAX = 20 * 1024 * 1024;
const FILE_BYTES_MAX = 50 * 1024 * 1024;
const PHOTO_BYTES_MAX = 10 * 1024 * 1024;
const PHOTO_SIDES_PX_MAX = 10_000;
const PHOTO_RATIO_MAX = 20;
const PHOTO_NAME = /\.(?:jpe?g|png|webp)$/i;
const AUDIO_NAME = /\.(?:mp3|m4a|ogg)$/i;
/** An ID3 tag, a frame of MPEG, a container of MPEG-4, one of Ogg. */
const AUDIO_BEGINS = /^(?:ID3|\xff[\xe2-\xff]|.{4}ftyp|OggS)/s;

/** A file as people see it. Only what is uploaded can be judged, so no id and no address is taken. */
export function fileOf(kind: keyof ShownFile, sent: unknown): ShownFile {
  if (sent === undefined) throw badRequest(`there is no ${kind} in the request`);
  const { name, bytes } = sent as Upload;
  if (!Buffer.isBuffer(bytes)) throw badRequest('wrong file identifier/HTTP URL specified');
  if (bytes.length === 0) throw badRequest('file must be non-empty');
  if (bytes.length > FILE_BYTES_MAX) throw new RefusedError(413, 'Request Entity Too Large');
  if (kind === 'photo') return { photo: photoOf(name, bytes) };
  const isAudio = AUDIO_NAME.test(name) && AUDIO_BEGINS.test(bytes.toString('latin1', 0, 12));
  if (kind === 'audio' && !isAudio) throw badRequest('AUDIO_EXT_INVALID');
  return { [kind]: { name, bytes: bytes.length } };
}

function photoOf(name: string, bytes: Buffer): NonNullable<ShownFile['photo']> {
  if (bytes.length > PHOTO_BYTES_MAX) {
    const most = `the maximum size is ${PHOTO_BYTES_MAX} bytes`;
    throw badRequest(`file of size ${bytes.length} bytes is too big for a photo; ${most}`);
  }
  if (!PHOTO_NAME.test(name)) throw badRequest('PHOTO_EXT_INVALID');
  const facts = readImageHeader(bytes);
  if (facts === undefined || facts.mediaType === 'image/gif') throw badRequest('IMAGE_PROCESS_FAILED');
  const { width, height } = facts;
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  if (short === 0 || width + height > PHOTO_SIDES_PX_MAX || long > short * PHOTO_RATIO_MAX) {
    throw badRequest('PHOTO_INVALID_DIMENSIONS');
  }
  return { width, height, bytes: bytes.length };
}

/** Files that users sent. */
export class Files {
  readonly #files = new Map<string, { path: string; bytes: Buffer; statedBytes: number }>();

  /** Stores a file and answers its id. `statedBytes` lets a small file pose as a large one. */
  add(bytes: Buffer, path?: string, statedBytes = bytes.length): string {
    const id = `file-${this.#files.size + 1}`;
    this.#files.set(id, { path: path ?? `documents/${id}`, bytes, statedBytes });
    return id;
  }

  /** What getFile answers. */
  describe(id: string): Body {
    const file = this.#files.get(id);
    if (file === undefined) throw badRequest('wrong file_id or the file is temporarily unavailable');
    if (file.statedBytes > DOWNLOAD_BYTES_MAX) throw badRequest('file is too big');
    return { file_id: id, file_unique_id: `u-${id}`, file_size: file.statedBytes, file_path: file.path };
  }

  /** The bytes behind a path, if there are any. */
  download(path: string): Buffer | undefined {
    return [...this.#files.values()].find((file) => file.path === path)?.bytes;
  }
}
