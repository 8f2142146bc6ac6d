import { redact } from '../../shared/base/redact.ts';
import { clip, clipMiddle } from '../../shared/base/text.ts';
import { labelWithRef } from '../media/label.ts';
import { type Block, nameInBrackets, textBlock } from '../model/block.ts';
import { estimateText } from '../model/estimate.ts';
import { withId } from '../session/header-code.ts';
import { withScrubs } from '../session/overlay.ts';
import { type LogRecord, resultText, textOf, type UserRecord } from '../session/record.ts';

const TOOL_RESULT_CHARS = 2_000;
const SHORTENED_CHARS = 1_500;
/** No character is estimated at more than 1.1 tokens, so this many characters for each token always fit. */
const CHARS_PER_TOKEN_MIN = 0.9;

/** A transcript cut into pieces that a summariser can take, oldest first. */
export interface Transcript {
  chunks: string[];
  /** Records that fit into no chunk and stay in the log only. */
  left: number;
}

/**
 * Writes records as text for a summariser: tool results shortened to head and tail, media as placeholders, thinking
 * omitted, credentials removed. Where that is more than `chunksMax` chunks, long records are shortened, and the oldest
 * omitted. Pure.
 */
export function transcribe(records: readonly LogRecord[], chunkTokens: number, chunksMax: number): Transcript {
  const lines = withScrubs(records).flatMap((record) => lineOf(record) ?? []);
  let chunks = packed(lines, chunkTokens);
  if (chunks.length > chunksMax) {
    const newestFirst = lines.map((line) => clipMiddle(line, SHORTENED_CHARS)).toReversed();
    const newest = packed(newestFirst, chunkTokens).slice(0, chunksMax);
    chunks = newest.map((chunk) => chunk.toReversed()).toReversed();
  }
  const left = lines.length - chunks.flat().length;
  return { chunks: chunks.map((chunk) => chunk.join('\n')), left };
}

/** Packs lines into chunks in their order: more lines later leave the first chunks as they are. */
function packed(lines: readonly string[], chunkTokens: number): string[][] {
  const chunks: string[][] = [];
  let left = 0;
  for (const whole of lines) {
    // A single line may be larger than a chunk.
    const isHuge = lineTokens(whole) > chunkTokens;
    const line = isHuge ? clipMiddle(whole, Math.floor(chunkTokens * CHARS_PER_TOKEN_MIN)) : whole;
    const tokens = lineTokens(line);
    if (tokens > left) {
      chunks.push([]);
      left = chunkTokens;
    }
    chunks.at(-1)?.push(line);
    left -= tokens;
  }
  return chunks;
}

/** The line break counts: a transcript can be a thousand short lines. */
function lineTokens(line: string): number {
  return estimateText(`${line}\n`);
}

function lineOf(record: LogRecord): string | undefined {
  if (record.t !== 'user' && record.t !== 'assistant') return undefined;
  const speaker = record.t === 'user' ? speakerOf(record) : '[Assistant]';
  const blocks = typeof record.content === 'string' ? [textBlock(record.content)] : record.content;
  const text = blocks.flatMap((block) => blockText(block) ?? []).join('\n');
  return text.trim() === '' ? undefined : `${speaker}: ${text}`;
}

/** Who wrote a message, in brackets that nothing in the name can close. Pure. */
export function speakerOf(record: UserRecord): string {
  const name = record.from ? ` ${withId(clean(nameInBrackets(record.from)), record)}` : '';
  return `[User${name}]`;
}

function blockText(block: Block): string | undefined {
  if (block.type === 'text') return clean(textOf([block]));
  if (block.type === 'tool_use') {
    const name = typeof block.name === 'string' ? clean(block.name) : 'a tool';
    return `(calls ${name} with ${clipMiddle(clean(JSON.stringify(block.input ?? {})), TOOL_RESULT_CHARS)})`;
  }
  if (block.type === 'tool_result')
    return `(tool result: ${clipMiddle(clean(resultText(block.content)), TOOL_RESULT_CHARS)})`;
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return undefined;
  return `(left out: ${clean(labelWithRef(block))})`;
}

/** Runs before any cut, since half a credential or half a tag would not be recognised. */
function clean(text: string): string {
  return neutral(redact(text.toWellFormed()));
}

/**
 * The transcript is data inside a tag; nothing in it may open or close such a tag, nor look like the beginning of what
 * somebody else said.
 */
export function neutral(text: string): string {
  return text
    .replace(/\[(?=[^\p{L}\p{N}[\]]{0,40}(?:user|assistant)\b)/giu, '(')
    .replace(/<(?=\s{0,9}\/?\s{0,9}(?:transcript|previous-summary)\b)/gi, '‹');
}

/**
 * A text as a seed quotes it: on one line, without credentials and without anything that could pass for a line of the
 * frame.
 */
export function quote(text: string, maxChars: number): string {
  const plain = redact(text.toWellFormed()).replace(/\s+/g, ' ').trim();
  return clip(plain.replace(/-{4,}/g, '---').replace(/\[END of/gi, '(end of'), maxChars);
}
