import { clipMiddle, redact } from '../../shared/text.ts';
import { estimateText } from '../model/tokens.ts';
import type { Block, LogRecord } from '../session/record.ts';

const TOOL_RESULT_CHARS = 2_000;
const SHORTENED_CHARS = 1_500;

/** A transcript cut into pieces that a summariser can take, oldest first. */
export interface Transcript {
  chunks: string[];
  /** Records that fit into no chunk and stay in the log only. */
  left: number;
}

/**
 * Writes records as text for a summariser: tool results shortened head and tail, media as placeholders, thinking left
 * out, credentials removed. What does not fit into `chunksMax` chunks is shortened first, then left out, oldest first.
 * Pure.
 */
export function transcribe(records: readonly LogRecord[], chunkTokens: number, chunksMax: number): Transcript {
  const lines = records.flatMap((record) => lineOf(record) ?? []);
  const whole = packed(lines, chunkTokens);
  if (whole.length <= chunksMax) return { chunks: whole, left: 0 };
  const short = lines.map((line) => clipMiddle(line, SHORTENED_CHARS));
  const fitting = newestThatFit(short, chunkTokens * chunksMax);
  // Packing leaves gaps at the ends of chunks, so a little more may have to go than the sum says.
  let from = short.length - fitting;
  let chunks = packed(short.slice(from), chunkTokens);
  while (chunks.length > chunksMax) {
    from += Math.max(1, Math.ceil((short.length - from) / 50));
    chunks = packed(short.slice(from), chunkTokens);
  }
  return { chunks, left: from };
}

function newestThatFit(lines: readonly string[], tokens: number): number {
  let left = tokens;
  let count = 0;
  for (const line of lines.toReversed()) {
    left -= estimateText(line);
    if (left < 0) break;
    count += 1;
  }
  return count;
}

function packed(lines: readonly string[], chunkTokens: number): string[] {
  const chunks: string[][] = [];
  let used = Number.POSITIVE_INFINITY;
  for (const whole of lines) {
    // One line alone may be larger than a chunk; about three characters are a token.
    const line = estimateText(whole) > chunkTokens ? clipMiddle(whole, chunkTokens) : whole;
    const tokens = estimateText(line);
    if (used + tokens > chunkTokens) {
      chunks.push([]);
      used = 0;
    }
    chunks.at(-1)?.push(line);
    used += tokens;
  }
  return chunks.map((chunk) => chunk.join('\n'));
}

function lineOf(record: LogRecord): string | undefined {
  if (record.t !== 'user' && record.t !== 'assistant') return undefined;
  const speaker = record.t === 'user' ? `[User${record.from ? ` ${record.from}` : ''}]` : '[Assistant]';
  const text =
    typeof record.content === 'string'
      ? record.content
      : record.content.flatMap((block) => blockText(block) ?? []).join('\n');
  return text.trim() === '' ? undefined : `${speaker}: ${neutral(redact(text.toWellFormed()))}`;
}

function blockText(block: Block): string | undefined {
  if (block.type === 'text') return String(block.text ?? '');
  if (block.type === 'tool_use')
    return `(calls ${String(block.name)} with ${clipMiddle(JSON.stringify(block.input ?? {}), TOOL_RESULT_CHARS)})`;
  if (block.type === 'tool_result') {
    const result = typeof block.content === 'string' ? block.content : JSON.stringify(block.content ?? '');
    return `(tool result: ${clipMiddle(result, TOOL_RESULT_CHARS)})`;
  }
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return undefined;
  return `(${block.type} left out)`;
}

/** The transcript is data inside a tag; nothing in it may close that tag. */
function neutral(text: string): string {
  return text.replace(/<(\/?)(transcript|previous-summary)>/gi, '‹$1$2›');
}
