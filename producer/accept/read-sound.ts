import { graphemePrefix } from '../../shared/base/text.ts';
import type { Sound } from '../../shared/flow/message.ts';
import { type RawMessage, wellFormed } from './raw-message.ts';
import { hasFileId, lengthOf, nameOf, statedSize } from './read-file.ts';

const SPOKEN = ['voice', 'audio', 'video_note'] as const;
const TYPE_CHARS = 128;

/** What may be heard in a message: a voice message, an audio file, a video note. Pure, never throws. */
export function soundOf(message: RawMessage): { what: string; sound: Sound } | undefined {
  const fields = message as Record<string, unknown>;
  const what = SPOKEN.find((kind) => kind in message);
  if (what === undefined) return undefined;
  const spoken = fields[what];
  if (!hasFileId(spoken)) return undefined;
  const { file_id: fileId, file_size: bytes, mime_type: mediaType } = spoken;
  const type = typeof mediaType === 'string' ? graphemePrefix(wellFormed(mediaType), TYPE_CHARS) : '';
  const stated = { ...nameOf(spoken), ...(type !== '' && { mediaType: type }), ...statedSize(bytes) };
  return { what, sound: { fileId, ...stated, ...lengthOf(spoken) } };
}
