import { redact } from '../../shared/base/redact.ts';
import { clip, clipMiddle } from '../../shared/base/text.ts';
import { labelWithRef } from '../media/label.ts';
import { type Block, nameInBrackets, textBlock } from '../model/block.ts';
import { estimateText } from '../model/estimate.ts';
import { withId } from '../session/header-code.ts';
import { type LogRecord, resultText, textOf, type UserRecord } from '../session/record.ts';

const TOOL_RESULT_CHARS = 2_000;
const SHORTENED_CHARS = 1_500;
/** The estimate of a character is at most 1.1 tokens, so this many characters per token always fit. */
const CHARS_PER_TOKEN_MIN = 0.9;

/** A transcript in chunks that fit a summariser, oldest first. */
export interface Transcript {
  chunks: string[];
  /** The number of records for which the chunks had no room. */
  omitted: number;
}

/**
 * Writes visible records (`withoutHidden`) as text for a summariser: long tool results without their middle, media as placeholders, no thinking and no
 * credentials. If the text exceeds `chunksMax` chunks, shortens long records, and omits the oldest that still do not fit. Pure.
 */
export function transcribe(records: readonly LogRecord[], chunkTokens: number, chunksMax: number): Transcript {
  const lines = records.flatMap((record) => lineOf(record) ?? []);
  let chunks = packLines(lines, chunkTokens);
  if (chunks.length > chunksMax) {
    const newestFirst = lines.map((line) => clipMiddle(line, SHORTENED_CHARS)).toReversed();
    const newest = packLines(newestFirst, chunkTokens).slice(0, chunksMax);
    chunks = newest.map((chunk) => chunk.toReversed()).toReversed();
  }
  const omitted = lines.length - chunks.flat().length;
  return { chunks: chunks.map((chunk) => chunk.join('\n')), omitted };
}

/** Packs lines into chunks, in order. Cuts the middle out of a line that exceeds a chunk. Later lines change no full chunk. */
function packLines(lines: readonly string[], chunkTokens: number): string[][] {
  const chunks: string[][] = [];
  let restTokens = 0;
  for (const fullLine of lines) {
    const isLargerThanChunk = lineTokens(fullLine) > chunkTokens;
    const line = isLargerThanChunk ? clipMiddle(fullLine, Math.floor(chunkTokens * CHARS_PER_TOKEN_MIN)) : fullLine;
    const tokens = lineTokens(line);
    if (tokens > restTokens) {
      chunks.push([]);
      restTokens = chunkTokens;
    }
    chunks.at(-1)?.push(line);
    restTokens -= tokens;
  }
  return chunks;
}

/** The estimated tokens of a line with its line break, which counts because a transcript can have a thousand short lines. */
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

/** The author of a message, in brackets that the name cannot close. Pure. */
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

/** Redacts credentials, and neutralises tags. Call this before any cut, since half a credential would not be recognised. */
function clean(text: string): string {
  return neutralise(redact(text.toWellFormed()));
}

/**
 * Changes a text in a request for a summary so that the text cannot open or close one of the request's tags, and cannot look
 * like the beginning of another message.
 */
export function neutralise(text: string): string {
  return text
    .replace(/\[(?=[^\p{L}\p{N}[\]]{0,40}(?:user|assistant)\b)/giu, '(')
    .replace(/<(?=\s{0,9}\/?\s{0,9}(?:transcript|previous-summary)\b)/gi, '‹');
}

/**
 * Quotes a text for a seed: on one line, cut to `maxChars`, without credentials, and without anything that could pass for a
 * line of the seed's frame.
 */
export function quote(text: string, maxChars: number): string {
  const plain = redact(text.toWellFormed()).replace(/\s+/g, ' ').trim();
  return clip(plain.replace(/-{4,}/g, '---').replace(/\[END of/gi, '(end of'), maxChars);
}
