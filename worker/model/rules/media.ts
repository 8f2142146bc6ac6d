/** Pictures and PDF files. A URL or a file id cannot be judged from a request. */

import { isFields } from '../../../shared/base/fields.ts';
import { type Block, sizeInWords, textBlock } from '../block.ts';
import { readImageHeader, readPdf } from '../media-header.ts';
import { type Fix, newestUserTurn, type Part, pendingPart } from './draft.ts';
import type { RequestFacts, RuleName } from './repair.ts';
import { type Fields, isMedia } from './shapes.ts';

/** Why a picture or a file cannot be sent, in words that also stand in its place afterwards. */
export interface MediaFault {
  rule: RuleName;
  problem: string;
}

const MB = 1024 * 1024;
const IMAGE_TYPES = new Set<unknown>(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const IMAGE_BASE64_BYTES_MAX = 5 * MB;
const IMAGE_SIDE_PX_MAX = 8000;
const MANY_IMAGES = 20;
const MANY_IMAGES_SIDE_PX_MAX = 2000;
const IMAGES_MAX = 100;
const IMAGES_MAX_LONG = 600;
const SHORT_WINDOW_TOKENS = 200_000;
const PDF_PAGES_MAX = 100;
const PDF_PAGES_MAX_LONG = 600;
const LONG_WINDOW_TOKENS = 1_000_000;

/** `media-readable`, `image-size` and `pdf-pages`: what cannot be sent is named by a line in its place. */
export const fixMedia: Fix = (draft, facts) => {
  const places = draft.blocks(isMedia);
  const media = places.map(({ block }) => block);
  const faults = judgeMedia(media, facts);
  for (const [at, place] of places.entries()) {
    const { rule, problem } = faults[at] ?? {};
    if (rule && problem) draft.rewrite(place, placeholder(place.block, problem), rule, 'placeholder');
  }
};

/** Words of ours for a picture or a file do not come between the user's last words and the end of the request. */
export const putLastWordsLast: Fix = (draft) => {
  const newest = newestUserTurn(draft);
  const pending = pendingPart(draft);
  if (newest === undefined || pending === undefined) return;
  const at = newest.parts.indexOf(pending);
  const behind = newest.parts.slice(at + 1);
  const isOurs = ({ block, came, out }: Part): boolean => !out && came?.type !== 'text' && block.type === 'text';
  const rest = [pending, ...behind.filter((part) => !isOurs(part))];
  newest.parts = [...newest.parts.slice(0, at), ...behind.filter(isOurs), ...rest];
};

/** How many pictures a model takes in one request, by its window. */
export function imagesMax(windowTokens = 0): number {
  return windowTokens > SHORT_WINDOW_TOKENS ? IMAGES_MAX_LONG : IMAGES_MAX;
}

/**
 * Judges all media of a request, given in the order in which they stand there: one verdict each, undefined for a sound
 * one. Where there are too many, the oldest are at fault, and no more of them than must go.
 */
export function judgeMedia(media: readonly Block[], facts: RequestFacts): (MediaFault | undefined)[] {
  const pagesMax = (facts.windowTokens ?? 0) >= LONG_WINDOW_TOKENS ? PDF_PAGES_MAX_LONG : PDF_PAGES_MAX;
  const images: { at: number; sidePx: number }[] = [];
  const faults = media.map((block, at) => {
    if (block.type !== 'image') return judgeDocument(block, pagesMax);
    const judged = judgeImage(block);
    if (typeof judged !== 'number') return judged;
    images.push({ at, sidePx: judged });
    return undefined;
  });
  const blame = (blamed: readonly { at: number }[], problem: string): void => {
    for (const { at } of blamed) faults[at] = { rule: 'image-size', problem };
  };
  const most = imagesMax(facts.windowTokens);
  blame(images.slice(0, -most), `more than ${most} images in one request`);
  const newest = images.slice(-most);
  const wide = newest.filter(({ sidePx }) => sidePx > MANY_IMAGES_SIDE_PX_MAX);
  const crowd = Math.max(0, newest.length - MANY_IMAGES);
  blame(wide.slice(0, crowd), `a side over ${MANY_IMAGES_SIDE_PX_MAX} px among more than ${MANY_IMAGES} images`);
  return faults;
}

const unreadable = (problem: string): MediaFault => ({ rule: 'media-readable', problem });
const badPdf = (problem: string): MediaFault => ({ rule: 'pdf-pages', problem });

/** The longer side of a sound picture in pixels, 0 when it cannot be known; else what is wrong with it. */
function judgeImage({ source }: Block): number | MediaFault {
  if (!isBase64(source)) return 0;
  if (!IMAGE_TYPES.has(source.media_type)) return unreadable('not a jpeg, png, gif or webp');
  if (source.data.length > IMAGE_BASE64_BYTES_MAX) return unreadable('larger than 5 MB');
  const bytes = decodedBase64(source.data);
  if (bytes === undefined) return unreadable('not base64');
  const header = readImageHeader(bytes);
  if (header === undefined) return unreadable('its bytes are no picture');
  if (header.mediaType !== source.media_type) return unreadable('its bytes are of another type');
  const side = Math.max(header.width, header.height);
  return side <= IMAGE_SIDE_PX_MAX ? side : { rule: 'image-size', problem: `a side over ${IMAGE_SIDE_PX_MAX} px` };
}

function judgeDocument({ source }: Block, pagesMax: number): MediaFault | undefined {
  if (!isBase64(source)) return undefined;
  if (source.media_type !== 'application/pdf') return unreadable('not a PDF');
  const bytes = decodedBase64(source.data);
  const header = bytes && readPdf(bytes);
  if (header === undefined) return badPdf('its bytes are no PDF');
  if (header.encrypted) return badPdf('password protected');
  return header.pages <= pagesMax ? undefined : badPdf(`more than ${pagesMax} pages`);
}

function isBase64(source: unknown): source is { data: string; media_type: unknown } {
  return isFields(source) && source.type === 'base64' && typeof source.data === 'string';
}

/**
 * The bytes of strict base64. The decoder skips what it does not know and takes the URL alphabet too, so a text is
 * sound exactly when it decodes to as many bytes as its length promises and holds neither of those two signs.
 */
function decodedBase64(data: string): Buffer | undefined {
  if (data.length === 0 || data.length % 4 !== 0 || data.includes('-') || data.includes('_')) return undefined;
  const padding = data.endsWith('==') ? 2 : Number(data.endsWith('='));
  const bytes = Buffer.from(data, 'base64');
  return bytes.length === (data.length / 4) * 3 - padding ? bytes : undefined;
}

/** The words in the place of a block: its media type and size, as far as it has them, and why it is not here. */
export function placeholder(block: Block, why: string): Block {
  const { data, media_type }: Fields = isFields(block.source) ? block.source : {};
  const isDeclared = /^[\w.+-]{1,40}\/[\w.+-]{1,60}$/.test(String(media_type));
  const kind = isDeclared ? String(media_type) : block.type.replaceAll(/[^\w-]/g, '_').slice(0, 60);
  const size = typeof data === 'string' ? `, ${sizeInWords(data.length)}` : '';
  return textBlock(`[${kind || 'block'}${size}, left out: ${why}]`);
}
