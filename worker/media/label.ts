import type { InboundFile } from '../../shared/flow/message.ts';
import { type Block, nameInBrackets, sizeInWords } from '../model/block.ts';

/**
 * Names a picture or a document in a few words for a line in brackets: `image/jpeg, 48 KB` or `document report.pdf,
 * 12 pages, 1.2 MB`. Uses only the fields of the block. Pure, total.
 */
export function labelOf(block: Block): string {
  const { media_type: mediaType, pages, bytes, data } = sourceOf(block);
  const title = typeof block.title === 'string' ? nameInBrackets(block.title) : '';
  const kind = block.type === 'image' && isMediaType(mediaType) ? mediaType : nameInBrackets(block.type);
  const size = [
    ...(isSize(pages) ? [pages === 1 ? '1 page' : `${pages} pages`] : []),
    ...(isSize(bytes) ? [sizeInWords(bytes)] : typeof data === 'string' ? [sizeInWords((data.length * 3) / 4)] : []),
  ];
  return [title === '' ? kind : `${kind} ${title}`, ...size].join(', ');
}

/** The label of a block. For a stored picture or PDF, it also says how the model can see the file again. Pure, total. */
export function labelWithRef(block: Block): string {
  const { type, sha256 } = sourceOf(block);
  const how =
    type === 'kept' && typeof sha256 === 'string' ? `; the tool "recall" shows it with {"ref":"${sha256}"}` : '';
  return `${labelOf(block)}${how}`;
}

const MOVING: Readonly<Record<string, string>> = {
  animation: 'an animation',
  video: 'a video',
  video_note: 'a video note',
};

/** Describes a sent file in a few words for the model. Pure. */
export function fileInWords({ what, name, thumbnailOf }: InboundFile): string {
  if (thumbnailOf === undefined) return what === 'photo' ? 'a photo' : `a file${quotedName(name)}`;
  const length = thumbnailOf.seconds === undefined ? '' : ` of ${thumbnailOf.seconds} s`;
  const moving = MOVING[thumbnailOf.what] ?? 'a recording';
  return `${moving}${length}${quotedName(thumbnailOf.name)}, of which only the thumbnail can be shown`;
}

function quotedName(name: string | undefined): string {
  return name === undefined ? '' : ` "${nameInBrackets(name).replaceAll('"', "'")}"`;
}

/** The source of a block; empty if it has none. Pure, total. */
export function sourceOf({ source }: Block): Partial<Record<string, unknown>> {
  return typeof source === 'object' && source !== null ? source : {};
}

function isMediaType(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.+-]{1,40}\/[\w.+-]{1,60}$/.test(value);
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
