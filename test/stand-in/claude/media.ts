/**
 * Pictures and PDF files (rules 22 to 24). Text sources, URLs and file ids cannot be judged from a request. The headers of
 * pictures are read with the product's reader, which `unit/worker/model/media-header.test.ts` holds to real pictures.
 */
import { readImageHeader } from '../../../worker/model/media-header.ts';
import { type Block, blocksOf, isObject, type MessagesRequest, nestedBlocks } from './request.ts';
import { type Grounds, type Violations, violation } from './violation.ts';

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const IMAGE_BASE64_BYTES_MAX = 5 * 1024 * 1024;
const IMAGE_SIDE_PX_MAX = 8000;
const MANY_IMAGES = 20;
const MANY_IMAGES_SIDE_PX_MAX = 2000;
const SHORT_WINDOW_TOKENS = 200_000;
const LONG_WINDOW_TOKENS = 1_000_000;

/** The pages of a PDF that stand in the clear, or else the count of its page tree; undefined when it is no PDF. */
export function pdfFacts(bytes: Buffer): { pages: number; encrypted: boolean } | undefined {
  const text = bytes.toString('latin1');
  if (!text.slice(0, 1024).includes('%PDF-')) return undefined;
  const objects = text.match(/\/Type\s*\/Page(?![a-zA-Z])/g)?.length ?? 0;
  const counts = [...text.matchAll(/\/Count\s+(\d+)/g)].map((match) => Number(match[1]));
  return { pages: Math.max(1, objects, ...counts), encrypted: /\/Encrypt\b/.test(text) };
}

interface Payload {
  readonly path: string;
  readonly type: string;
  readonly mediaType: string;
  readonly data: string;
}

function payloadsIn(block: Block, path: string): Payload[] {
  const { source, type } = block;
  const nested = nestedBlocks(block).flatMap((each, at) => payloadsIn(each, `${path}.tool_result.content.${at}`));
  if (!(type === 'image' || type === 'document') || !isObject(source) || source.type !== 'base64') return nested;
  const { media_type: mediaType, data } = source;
  return [{ path: `${path}.${type}.source.base64`, type, mediaType: String(mediaType), data: String(data) }];
}

function* imageViolations({ path, data, mediaType }: Payload, sideMax: number): Violations {
  if (!IMAGE_TYPES.includes(mediaType))
    yield violation(22, `${path}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`);
  if (data.length > IMAGE_BASE64_BYTES_MAX)
    yield violation(22, `${path}: image exceeds 5 MB maximum: ${data.length} bytes > ${IMAGE_BASE64_BYTES_MAX} bytes`);
  if (!isBase64(data)) yield violation(22, `${path}.data: Invalid base64 data`);
  const facts = readImageHeader(Buffer.from(data, 'base64'));
  if (facts === undefined) return yield violation(22, `${path}: Could not process image`);
  if (facts.mediaType !== mediaType)
    yield violation(
      22,
      `${path}.data: Image does not match the provided media type ${mediaType}: it appears to be ${facts.mediaType}`,
    );
  const many = sideMax === IMAGE_SIDE_PX_MAX ? '' : ' for many-image requests';
  if (Math.max(facts.width, facts.height) > sideMax)
    yield violation(
      23,
      `${path}.data: At least one of the image dimensions exceed max allowed size${many}: ${sideMax} pixels`,
    );
}

function* pdfViolations({ path, data, mediaType }: Payload, pagesMax: number): Violations {
  if (mediaType !== 'application/pdf') yield violation(22, `${path}.media_type: Input should be 'application/pdf'`);
  const facts = isBase64(data) ? pdfFacts(Buffer.from(data, 'base64')) : undefined;
  if (facts === undefined) return yield violation(24, `${path}.data: The PDF specified was not valid.`);
  if (facts.encrypted) yield violation(24, `${path}.data: The PDF specified is password protected.`);
  if (facts.pages > pagesMax) yield violation(24, `${path}.data: A maximum of ${pagesMax} PDF pages may be provided.`);
}

const isBase64 = (data: string): boolean =>
  data !== '' && data.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(data.replace(/={1,2}$/, ''));

/** Rules 22 to 24 for every picture and PDF of the request, those inside tool results included. */
export function* mediaViolations({ messages }: MessagesRequest, { windowTokens }: Grounds): Violations {
  const payloads = messages.flatMap(({ content }, at) =>
    blocksOf(content).flatMap((block, index) => payloadsIn(block, `messages.${at}.content.${index}`)),
  );
  const images = payloads.filter(({ type }) => type === 'image').length;
  const most = windowTokens > SHORT_WINDOW_TOKENS ? 600 : 100;
  if (images > most) yield violation(23, `messages: Too many images: ${images} > ${most} maximum`);
  const sideMax = images > MANY_IMAGES ? MANY_IMAGES_SIDE_PX_MAX : IMAGE_SIDE_PX_MAX;
  const pagesMax = windowTokens >= LONG_WINDOW_TOKENS ? 600 : 100;
  for (const payload of payloads)
    yield* payload.type === 'image' ? imageViolations(payload, sideMax) : pdfViolations(payload, pagesMax);
}
