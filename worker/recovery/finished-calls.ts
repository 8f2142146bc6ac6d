import { clip, redact } from '../../shared/base/text.ts';
import type { Block } from '../model/block.ts';
import { estimateText } from '../model/estimate.ts';
import { type LogRecord, resultText } from '../session/record.ts';
import { newestThatFit } from './transcript.ts';

/** A tool call that was made for a message, with its outcome. */
interface FinishedCall {
  name: string;
  input: unknown;
  outcome: string;
}

/**
 * How many characters of a call's arguments are shown, and one and a half times as many of its outcome; the first that
 * fits counts.
 */
const SHOWN_CHARS = [800, 400, 200, 100, 50, 20];
const OUTCOME_FACTOR = 1.5;
/** So little of each is shown where what was quoted may be what was refused. */
const BARE_SHOWN_CHARS = [100, 50, 20];
const NAME_CHARS = 64;
/** No more of a long outcome is scanned. */
const SCAN_CHARS = 4_000;

/**
 * One line for each call that was already made for the pending message, with its arguments and its outcome, in
 * `tokensMax` as we estimate them: the more calls, the less of each. Where not even that fits, the oldest are only
 * counted. `isBare` shows little of each. The same call in two sessions counts once. Pure.
 */
export function finishedCalls(
  records: readonly LogRecord[],
  { pending, tokensMax, isBare }: { pending: string; tokensMax: number; isBare: boolean },
): string[] {
  const calls = callsOf(records, pending);
  for (const chars of isBare ? BARE_SHOWN_CHARS : SHOWN_CHARS) {
    const lines = calls.map((call) => lineOf(call, chars));
    if (estimateText(lines.join('\n')) <= tokensMax) return lines;
  }
  const shortest = calls.map((call) => lineOf(call, SHOWN_CHARS.at(-1) ?? 0));
  const omitted = shortest.length - newestThatFit(shortest, tokensMax);
  return [`(${omitted} older calls, all done, are not listed)`, ...shortest.slice(omitted)];
}

function callsOf(records: readonly LogRecord[], pending: string): FinishedCall[] {
  const calls = new Map<unknown, Block>();
  const results = new Map<unknown, Block>();
  for (const record of records) {
    if ((record.t !== 'user' && record.t !== 'assistant') || typeof record.content === 'string') continue;
    for (const block of record.content) {
      if (record.t === 'assistant' && record.entry === pending && block.type === 'tool_use') calls.set(block.id, block);
      if (block.type === 'tool_result') results.set(block.tool_use_id, block);
    }
  }
  return [...calls].map(([id, { name, input }]) => ({
    name: typeof name === 'string' ? plain(name, NAME_CHARS) : 'tool',
    input,
    outcome: outcomeOf(results.get(id)),
  }));
}

function outcomeOf(result: Block | undefined): string {
  if (result === undefined) return 'was interrupted; nobody knows whether it took effect';
  const verdict = result.is_error === true ? 'failed' : 'returned';
  return `${verdict}: ${resultText(result.content).slice(0, SCAN_CHARS)}`;
}

function lineOf({ name, input, outcome }: FinishedCall, chars: number): string {
  const given = plain(JSON.stringify(input ?? {}), chars);
  return `${name} ${given} ${plain(outcome, Math.ceil(chars * OUTCOME_FACTOR))}`;
}

function plain(text: string, maxChars: number): string {
  return clip(redact(text.toWellFormed()).replace(/\s+/g, ' ').trim(), maxChars);
}
