/**
 * A deterministic stand-in for a tokenizer. It is no real one, and must not be: a gateway that only works with one
 * way of counting is wrong. It has the shape of the real ones: about four characters a token for plain Latin text,
 * denser for code, digits, Cyrillic, CJK and emoji.
 */
import { imageFacts, pdfFacts } from './images.ts';
import { type Block, isObject, type MessagesRequest, nestedBlocks } from './request.ts';
import { sealedTokens } from './seal.ts';
import { type Segment, segmentsOf } from './segments.ts';

/** What one UTF-16 unit weighs, in hundredths of a token, by the range that it falls in (first match wins). */
const WEIGHTS: readonly [from: number, to: number, hundredths: number][] = [
  [0x20, 0x20, 20],
  [0x61, 0x7a, 25],
  [0x41, 0x5a, 33],
  [0x30, 0x39, 55],
  [0x00, 0x7f, 50],
  [0x80, 0x24f, 45],
  [0x250, 0x5ff, 50],
  [0x600, 0x1fff, 70],
  [0x2000, 0x2bff, 100],
  [0x2c00, 0xd7ff, 120],
  [0xd800, 0xdfff, 125],
  [0xe000, 0xffff, 110],
];

const weightOfUnit = Uint8Array.from({ length: 0x10000 }, (_, unit) => {
  const range = WEIGHTS.find(([from, to]) => unit >= from && unit <= to);
  return range?.[2] ?? 100;
});

const BLOCK_OVERHEAD_TOKENS = 3;
const TOOLS_OVERHEAD_TOKENS = 250;
const PIXELS_PER_TOKEN = 750;
const IMAGE_TOKENS_MAX = 1600;
const UNKNOWN_IMAGE_TOKENS = 1200;
const PDF_PAGE_TOKENS = 1900;

/** The tokens of a text, not rounded, before the model's ratio. */
export function textTokens(text: string): number {
  let hundredths = 0;
  for (let at = 0; at < text.length; at += 1) hundredths += weightOfUnit[text.charCodeAt(at)] ?? 0;
  return hundredths / 100;
}

function imageTokens(data: unknown): number {
  if (typeof data !== 'string') return UNKNOWN_IMAGE_TOKENS;
  const facts = imageFacts(Buffer.from(data, 'base64'));
  if (facts === undefined || facts.width === 0) return UNKNOWN_IMAGE_TOKENS;
  return Math.min(IMAGE_TOKENS_MAX, Math.ceil((facts.width * facts.height) / PIXELS_PER_TOKEN));
}

function pdfTokens(data: unknown): number {
  const pages = typeof data === 'string' ? (pdfFacts(Buffer.from(data, 'base64'))?.pages ?? 1) : 1;
  return pages * PDF_PAGE_TOKENS;
}

/** Text anywhere inside a value: keys and values both cost, as the model reads them both. */
function valueTokens(value: unknown): number {
  if (typeof value === 'string') return textTokens(value);
  return value === undefined || value === null ? 0 : textTokens(JSON.stringify(value));
}

function sourceTokens(block: Block): number {
  const source = isObject(block.source) ? block.source : {};
  if (block.type === 'image') return imageTokens(source.data);
  return source.type === 'base64' ? pdfTokens(source.data) : valueTokens(source.data ?? source.content);
}

/** A conversation's blocks are counted with every request, and nothing changes them once they have arrived. */
const tokensByBlock = new WeakMap<Block, number>();

/**
 * Ids and encrypted payloads are transport, not text that the model reads: they cost nothing. A thought that its
 * signature carries is counted apart, since it is known in the model's own tokens.
 */
function blockTokens(block: Block): number {
  const tokens = tokensByBlock.get(block) ?? countBlock(block);
  tokensByBlock.set(block, tokens);
  return tokens;
}

function countBlock(block: Block): number {
  switch (block.type) {
    case 'text':
      return BLOCK_OVERHEAD_TOKENS + valueTokens(block.text);
    case 'thinking':
      return BLOCK_OVERHEAD_TOKENS + (sealedTokens(block.signature) > 0 ? 0 : valueTokens(block.thinking));
    case 'redacted_thinking':
      return BLOCK_OVERHEAD_TOKENS;
    case 'image':
    case 'document':
      return BLOCK_OVERHEAD_TOKENS + sourceTokens(block) + valueTokens(block.title) + valueTokens(block.context);
    case 'tool_use':
    case 'server_tool_use':
      return BLOCK_OVERHEAD_TOKENS * 3 + valueTokens(block.name) + valueTokens(block.input);
    case 'tool_result':
      return BLOCK_OVERHEAD_TOKENS * 3 + resultTokens(block);
    default:
      return BLOCK_OVERHEAD_TOKENS + valueTokens(block);
  }
}

function resultTokens(block: Block): number {
  if (typeof block.content === 'string') return textTokens(block.content);
  return nestedBlocks(block).reduce((sum, nested) => sum + blockTokens(nested), 0);
}

function segmentTokens(segment: Segment, isFirstTool: boolean): number {
  if (segment.role !== 'tools') return blockTokens(segment.block as Block);
  const { cache_control: _marker, ...definition } = segment.block;
  return valueTokens(definition) + (isFirstTool ? TOOLS_OVERHEAD_TOKENS : 0);
}

/** The tokens of the request's prefix up to and including each segment: whole numbers that only grow. */
export function prefixTokens(segments: readonly Segment[], ratio: number): number[] {
  let sum = 0;
  let thought = 0;
  return segments.map((segment, index) => {
    sum += segmentTokens(segment, index === 0);
    thought += sealedTokens(segment.block.signature);
    return Math.ceil(sum * ratio) + thought;
  });
}

/** The input tokens of a whole request, for a tokenizer that makes `ratio` times the tokens of the plain one. */
export function countTokens(request: MessagesRequest, ratio = 1): number {
  return prefixTokens(segmentsOf(request), ratio).at(-1) ?? 0;
}

/** The output tokens of an answer's content. */
export function contentTokens(content: readonly Block[], ratio = 1): number {
  return Math.ceil(content.reduce((sum, block) => sum + blockTokens(block), 0) * ratio);
}

/** The longest beginning of a text that costs at most `tokensMax`, cut between code points. */
export function cutToTokens(text: string, tokensMax: number, ratio = 1): string {
  let hundredths = (tokensMax * 100) / ratio;
  let at = 0;
  while (at < text.length) {
    hundredths -= weightOfUnit[text.charCodeAt(at)] ?? 0;
    if (hundredths < 0) break;
    at += 1;
  }
  const splitsPair = at > 0 && at < text.length && /[\ud800-\udbff]/.test(text.charAt(at - 1));
  return text.slice(0, splitsPair ? at - 1 : at);
}
