/**
 * A deterministic stand-in for a tokenizer. It is no real one, and must not be: a gateway that only works with one
 * way of counting is wrong. It has the shape of the real ones: about four characters a token for plain Latin text,
 * denser for code, digits, Cyrillic, CJK and emoji.
 */
import { readImageHeader } from '../../../worker/model/media-header.ts';
import { pdfFacts } from './media.ts';
import { sealedTokens } from './memory.ts';
import { type Block, isObject, type MessagesRequest, nestedBlocks } from './request.ts';
import { rememberFor, type Segment, segmentsOf } from './segments.ts';

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

/** Text anywhere inside a value: keys and values both cost, as the model reads them both. */
function valueTokens(value: unknown): number {
  const given = value ?? '';
  return textTokens(typeof given === 'string' ? given : JSON.stringify(given));
}

function sourceTokens({ type, source }: Block): number {
  const { type: kind, data, content } = isObject(source) ? source : {};
  if (type === 'document' && kind !== 'base64') return valueTokens(data ?? content);
  const bytes = Buffer.from(String(data ?? ''), 'base64');
  if (type === 'document') return (pdfFacts(bytes)?.pages ?? 1) * PDF_PAGE_TOKENS;
  const { width = 0, height = 0 } = readImageHeader(bytes) ?? {};
  if (width === 0) return UNKNOWN_IMAGE_TOKENS;
  return Math.min(IMAGE_TOKENS_MAX, Math.ceil((width * height) / PIXELS_PER_TOKEN));
}

/**
 * Ids and encrypted payloads are transport, not text that the model reads: they cost nothing. A thought that its
 * signature carries is counted apart, since it is known in the model's own tokens.
 */
const blockTokens: (block: Block) => number = rememberFor((block) => {
  const { type, text, thinking, signature, name, input, content, title, context } = block;
  switch (type) {
    case 'text':
      return BLOCK_OVERHEAD_TOKENS + valueTokens(text);
    case 'thinking':
      return BLOCK_OVERHEAD_TOKENS + (sealedTokens(signature) > 0 ? 0 : valueTokens(thinking));
    case 'redacted_thinking':
      return BLOCK_OVERHEAD_TOKENS;
    case 'image':
    case 'document':
      return BLOCK_OVERHEAD_TOKENS + sourceTokens(block) + valueTokens(title) + valueTokens(context);
    case 'tool_use':
    case 'server_tool_use':
      return BLOCK_OVERHEAD_TOKENS * 3 + valueTokens(name) + valueTokens(input);
    case 'tool_result': {
      const found = typeof content === 'string' ? textTokens(content) : 0;
      return nestedBlocks(block).reduce((sum, nested) => sum + blockTokens(nested), BLOCK_OVERHEAD_TOKENS * 3 + found);
    }
    default:
      return BLOCK_OVERHEAD_TOKENS + valueTokens(block);
  }
});

function segmentTokens({ role, block }: Segment, isFirstTool: boolean): number {
  if (role !== 'tools') return blockTokens(block as Block);
  const { cache_control: _marker, ...definition } = block;
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

export function contentTokens(content: readonly Block[], ratio = 1): number {
  return Math.ceil(content.reduce((sum, block) => sum + blockTokens(block), 0) * ratio);
}

/** The longest beginning of a text that costs at most `tokensMax`, cut between code points. */
export function cutToTokens(text: string, tokensMax: number, ratio: number): string {
  let left = tokensMax / ratio;
  let end = 0;
  for (const character of text) {
    left -= textTokens(character);
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}
