import { readImageHeader } from './media-header.ts';

const PIXELS_PER_TOKEN = 750;
/** The provider scales larger pictures down to 3.75 MP. */
const PER_IMAGE_TOKENS_MAX = 5_000;
/** For a picture of unknown size: 1568 x 1568 pixels, the largest that the gateway creates. */
const UNKNOWN_IMAGE_TOKENS = 3_300;
/** How many characters of a picture's base64 are searched for its size, which may follow a preview picture. */
const IMAGE_HEADER_CHARS = 16 * 1024;
const PER_BLOCK_TOKENS = 4;
/** For encrypted thinking in base64: an average token has four characters, which take about five in base64. */
const TOKENS_PER_SEAL_CHAR = 0.19;
const BASE64_CHARS_PER_PDF_PAGE = 60_000;
/**
 * A page costs its text and a picture of the page. Reported for real pages: a scan 1,600, a page of text 2,100 to 2,350, a
 * table 2,300 to 2,500; the higher figures are those of the newest models.
 */
const PER_PDF_PAGE_TOKENS = 2_500;

/** Tokens per UTF-16 unit by kind of character, from measured figures. */
const LETTER = 1 / 4.2;
const DIGIT = 1 / 2.2;
const MARK = 1 / 1.8;
const TWO_BYTE = 1 / 2.1;
const WIDE = 1.1;

/** Estimates the tokens of a text from its characters. Pure, O(n), never negative; 0 only for an empty text. */
export function estimateText(text: string): number {
  let tokens = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) tokens += asciiTokens(unit);
    else tokens += unit < 0x800 ? TWO_BYTE : WIDE;
  }
  return Math.ceil(tokens);
}

/** Estimates a message's content, with any blocks: text, tool calls and results, images, documents. */
export function estimateContent(content: unknown): number {
  if (typeof content === 'string') return estimateText(content);
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum: number, block) => sum + PER_BLOCK_TOKENS + estimateBlock(block), 0);
}

/** The estimated tokens of pictures and pages. No calibration applies to them, since the tokenizer hardly matters. */
export function estimateMedia(content: unknown): number {
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum: number, block) => sum + mediaOf(block), 0);
}

function mediaOf(block: unknown): number {
  const { type, content, source } = (block ?? {}) as Partial<Record<string, unknown>>;
  if (type === 'image') return estimateImage(source);
  if (type === 'tool_result') return estimateMedia(content);
  if (type !== 'document') return 0;
  const { type: kind, content: innerBlocks } = (source ?? {}) as Partial<Record<string, unknown>>;
  return kind === 'text' || kind === 'content' ? estimateMedia(innerBlocks) : estimateDocument(source);
}

function asciiTokens(unit: number): number {
  if (unit === 0x20 || (unit | 0x20) >= 0x61) return (unit | 0x20) <= 0x7a ? LETTER : MARK;
  if (unit >= 0x30 && unit <= 0x39) return DIGIT;
  return unit === 0x0a ? LETTER : MARK;
}

/** A cache of estimates, since a block never changes and is in each request of its chat. */
const blockTokens = new WeakMap<object, number>();

/** Estimates a block of a message, or any other value as its JSON. */
export function estimateBlock(block: unknown): number {
  if (typeof block !== 'object' || block === null) return tokensOf(block);
  const cached = blockTokens.get(block);
  if (cached !== undefined) return cached;
  const tokens = tokensOf(block);
  blockTokens.set(block, tokens);
  return tokens;
}

function tokensOf(block: unknown): number {
  const { type, text, content, source } = (block ?? {}) as Partial<Record<string, unknown>>;
  if (type === 'text' && typeof text === 'string') return estimateText(text);
  if (type === 'thinking') return estimateThought(block as Partial<Record<string, unknown>>);
  if (type === 'image') return estimateImage(source);
  if (type === 'document') return estimateDocument(source);
  if (type === 'tool_result') return estimateContent(content);
  return estimateText(JSON.stringify(block) ?? '');
}

/** Estimates thinking. Hidden thinking is encrypted in the signature, and costs as much as visible thinking. */
function estimateThought({ thinking, signature }: Partial<Record<string, unknown>>): number {
  if (typeof thinking === 'string' && thinking !== '') return estimateText(thinking);
  return typeof signature === 'string' ? Math.ceil(signature.length * TOKENS_PER_SEAL_CHAR) : 0;
}

/** Estimates a picture by its pixels. A stored picture states its size; any other picture has the size in its first bytes. */
function estimateImage(source: unknown): number {
  const { type, data, width, height } = (source ?? {}) as Partial<Record<string, unknown>>;
  if (type === 'kept') return pixelTokens(Number(width) * Number(height));
  if (typeof data !== 'string') return UNKNOWN_IMAGE_TOKENS;
  const header = readImageHeader(Buffer.from(data.slice(0, IMAGE_HEADER_CHARS), 'base64'));
  return pixelTokens(header ? header.width * header.height : 0);
}

function pixelTokens(pixels: number): number {
  return pixels > 0 ? Math.min(PER_IMAGE_TOKENS_MAX, Math.ceil(pixels / PIXELS_PER_TOKEN)) : UNKNOWN_IMAGE_TOKENS;
}

/** Estimates a document, which is a file of pages, a plain text or a list of blocks. */
function estimateDocument(source: unknown): number {
  const { type, data, content, pages } = (source ?? {}) as Partial<Record<string, unknown>>;
  if (type === 'kept' && Number.isSafeInteger(pages)) return Math.max(1, Number(pages)) * PER_PDF_PAGE_TOKENS;
  if (type === 'content') return estimateContent(content);
  if (type === 'text' && typeof data === 'string') return estimateText(data);
  const chars = typeof data === 'string' ? data.length : 0;
  return Math.max(1, Math.ceil(chars / BASE64_CHARS_PER_PDF_PAGE)) * PER_PDF_PAGE_TOKENS;
}
