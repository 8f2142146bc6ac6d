/** Pictures and PDF files (rules 22 to 24). Text sources, URLs and file ids cannot be judged from a request. */

import { imageFacts, pdfFacts } from './images.ts';
import { type Block, blocksOf, isObject, type MessagesRequest, nestedBlocks } from './request.ts';
import { firstOf, type Grounds, type Violation, violation } from './violation.ts';

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
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

interface Payload {
  readonly path: string;
  readonly kind: 'image' | 'document';
  readonly mediaType: string;
  readonly data: string;
}

function payloadsIn(block: Block, path: string): Payload[] {
  const nested = nestedBlocks(block).flatMap((each, at) => payloadsIn(each, `${path}.tool_result.content.${at}`));
  const { source, type } = block;
  if ((type !== 'image' && type !== 'document') || !isObject(source) || source.type !== 'base64') return nested;
  const payload: Payload = {
    path: `${path}.${type}.source.base64`,
    kind: type,
    mediaType: String(source.media_type),
    data: String(source.data),
  };
  return [...nested, payload];
}

function checkImage({ path, data, mediaType }: Payload, sideMax: number): Violation | undefined {
  if (!IMAGE_TYPES.includes(mediaType)) {
    return violation(22, `${path}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`);
  }
  if (data.length > IMAGE_BASE64_BYTES_MAX) {
    return violation(22, `${path}: image exceeds 5 MB maximum: ${data.length} bytes > ${IMAGE_BASE64_BYTES_MAX} bytes`);
  }
  if (!isBase64(data)) return violation(22, `${path}.data: Invalid base64 data`);
  const facts = imageFacts(Buffer.from(data, 'base64'));
  if (facts === undefined) return violation(22, `${path}: Could not process image`);
  if (facts.mediaType !== mediaType) {
    return violation(
      22,
      `${path}.data: Image does not match the provided media type ${mediaType}: it appears to be ${facts.mediaType}`,
    );
  }
  if (facts.width <= sideMax && facts.height <= sideMax) return undefined;
  const many = sideMax === IMAGE_SIDE_PX_MAX ? '' : ' for many-image requests';
  return violation(
    23,
    `${path}.data: At least one of the image dimensions exceed max allowed size${many}: ${sideMax} pixels`,
  );
}

function checkPdf({ path, data, mediaType }: Payload, pagesMax: number): Violation | undefined {
  if (mediaType !== 'application/pdf') return violation(22, `${path}.media_type: Input should be 'application/pdf'`);
  const facts = isBase64(data) ? pdfFacts(Buffer.from(data, 'base64')) : undefined;
  if (facts === undefined) return violation(24, `${path}.data: The PDF specified was not valid.`);
  if (facts.encrypted) return violation(24, `${path}.data: The PDF specified is password protected.`);
  return facts.pages > pagesMax
    ? violation(24, `${path}.data: A maximum of ${pagesMax} PDF pages may be provided.`)
    : undefined;
}

const BASE64_SLICE = 64 * 1024;

/** In slices: on a whole image the engine may give up with a full stack. */
function isBase64(data: string): boolean {
  if (data.length === 0 || data.length % 4 !== 0) return false;
  const letters = data.replace(/={1,2}$/, '');
  for (let at = 0; at < letters.length; at += BASE64_SLICE) {
    if (/[^A-Za-z0-9+/]/.test(letters.slice(at, at + BASE64_SLICE))) return false;
  }
  return true;
}

/** Rules 22 to 24 for every picture and PDF of the request, those inside tool results included. */
export function checkMedia({ messages }: MessagesRequest, { windowTokens }: Grounds): Violation | undefined {
  const payloads = messages.flatMap(({ content }, at) =>
    blocksOf(content).flatMap((block, index) => payloadsIn(block, `messages.${at}.content.${index}`)),
  );
  const images = payloads.filter(({ kind }) => kind === 'image').length;
  const most = windowTokens > SHORT_WINDOW_TOKENS ? IMAGES_MAX_LONG : IMAGES_MAX;
  if (images > most) return violation(23, `messages: Too many images: ${images} > ${most} maximum`);
  const sideMax = images > MANY_IMAGES ? MANY_IMAGES_SIDE_PX_MAX : IMAGE_SIDE_PX_MAX;
  const pagesMax = windowTokens >= LONG_WINDOW_TOKENS ? PDF_PAGES_MAX_LONG : PDF_PAGES_MAX;
  return firstOf(payloads, (payload) =>
    payload.kind === 'image' ? checkImage(payload, sideMax) : checkPdf(payload, pagesMax),
  );
}
