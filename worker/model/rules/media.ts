/** The rules about pictures and PDF files. Content behind a URL or a file id cannot be judged from a request. */

import { isFields } from '../../../shared/base/fields.ts';
import type { Block } from '../block.ts';
import { readImageHeader, readPdf } from '../media-header.ts';
import { isMedia } from './blocks.ts';
import type { RuleName, Violation } from './validate.ts';

const IMAGE_TYPES = new Set<unknown>(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const IMAGE_BASE64_BYTES_MAX = 5 * 1024 * 1024;
const IMAGE_SIDE_PX_MAX = 8000;
const MANY_IMAGES = 20;
const MANY_IMAGES_SIDE_PX_MAX = 2000;
const IMAGES_MAX = 100;
const IMAGES_MAX_LONG = 600;
const SHORT_WINDOW_TOKENS = 200_000;
const PDF_PAGES_MAX = 100;
const PDF_PAGES_MAX_LONG = 600;
const LONG_WINDOW_TOKENS = 1_000_000;

/** A block of a request, with its path. */
export interface PlacedBlock {
  block: Block;
  path: string;
}

/** The maximum number of pictures in one request, which depends on the model's window. */
export function imagesMax(windowTokens = 0): number {
  return windowTokens > SHORT_WINDOW_TOKENS ? IMAGES_MAX_LONG : IMAGES_MAX;
}

/** Checks `media-readable`, `image-size` and `pdf-pages` for all blocks of a request, in order. */
export function* mediaViolations(blocks: readonly PlacedBlock[], windowTokens = 0): Generator<Violation> {
  const pagesMax = windowTokens >= LONG_WINDOW_TOKENS ? PDF_PAGES_MAX_LONG : PDF_PAGES_MAX;
  const images: { sidePx: number; path: string }[] = [];
  for (const { block, path } of blocks) {
    if (!isMedia(block)) continue;
    const result = block.type === 'image' ? checkImage(block) : checkDocument(block, pagesMax);
    if (typeof result === 'string') yield { rule: result, path };
    else if (block.type === 'image') images.push({ sidePx: result, path });
  }
  const excess = images[imagesMax(windowTokens)];
  if (excess !== undefined) yield { rule: 'image-size', path: excess.path };
  const wide = images.find(({ sidePx }) => sidePx > MANY_IMAGES_SIDE_PX_MAX);
  if (images.length > MANY_IMAGES && wide !== undefined) yield { rule: 'image-size', path: wide.path };
}

/** The longer side of a picture in pixels, or 0 if its bytes are not in the request; or the rule that the picture breaks. */
function checkImage({ source }: Block): number | RuleName {
  if (!isBase64(source)) return 0;
  const { data, media_type } = source;
  const bytes = data.length <= IMAGE_BASE64_BYTES_MAX ? decodedBase64(data) : undefined;
  const header = bytes && readImageHeader(bytes);
  if (!IMAGE_TYPES.has(media_type) || header?.mediaType !== media_type) return 'media-readable';
  const sidePx = Math.max(header.width, header.height);
  return sidePx <= IMAGE_SIDE_PX_MAX ? sidePx : 'image-size';
}

function checkDocument({ source }: Block, pagesMax: number): 0 | RuleName {
  if (!isBase64(source)) return 0;
  if (source.media_type !== 'application/pdf') return 'media-readable';
  const bytes = decodedBase64(source.data);
  const header = bytes && readPdf(bytes);
  return header === undefined || header.encrypted || header.pages > pagesMax ? 'pdf-pages' : 0;
}

function isBase64(source: unknown): source is { data: string; media_type: string } {
  return isFields(source) && source.type === 'base64' && typeof source.data === 'string';
}

/**
 * Decodes strict base64. Node's decoder skips unknown characters and accepts the URL alphabet, too, so a text is valid only
 * if it decodes to the number of bytes that follows from its length, and contains neither `-` nor `_`.
 */
function decodedBase64(data: string): Buffer | undefined {
  if (data.length === 0 || data.length % 4 !== 0 || data.includes('-') || data.includes('_')) return undefined;
  const padding = data.endsWith('==') ? 2 : Number(data.endsWith('='));
  const bytes = Buffer.from(data, 'base64');
  return bytes.length === (data.length / 4) * 3 - padding ? bytes : undefined;
}
