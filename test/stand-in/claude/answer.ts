/** What the model says: the content, the reason why it stopped, and what it cost. */
import { contentTokens, cutToTokens } from './counting.ts';
import { isThinking } from './memory.ts';
import type { ClaudeCall, Reaction } from './reaction.ts';
import { type Block, conversationTexts, type MessagesRequest } from './request.ts';
import { type Thought, thoughtBlock } from './thought.ts';

/** What an answer holds before it is signed and counted. */
export interface Composed {
  readonly content: Block[];
  readonly stopReason: string;
}

/** How many tokens an answer may have, and what stops it at that point. */
export interface OutputLimit {
  readonly tokens: number;
  readonly stopReason: string;
}

/** The bound is the request's own, or what the window leaves where that is less. */
export function outputLimit(maxTokens: number, inputTokens: number, windowTokens: number): OutputLimit {
  const left = windowTokens - inputTokens;
  return left < maxTokens
    ? { tokens: left, stopReason: 'model_context_window_exceeded' }
    : { tokens: maxTokens, stopReason: 'max_tokens' };
}

const quote = (text: string, unitsMax: number): string => text.slice(0, unitsMax).toWellFormed().trim();

/** The answer of a model that was not told what to say: it shows which message it has read. */
export function defaultText(call: ClaudeCall): string {
  return call.kind === 'compaction' ? summaryText(call.body) : `You said: ${quote(call.pendingText, 80)}`;
}

/** A short, plain paragraph, always the same for the same transcript. */
function summaryText(request: MessagesRequest): string {
  const texts = conversationTexts(request);
  const all = texts.join(' ').replace(/\s+/g, ' ');
  return [
    `The conversation so far was read in ${texts.length} part${texts.length === 1 ? '' : 's'} of ${all.length} characters.`,
    `It began with: ${quote(all, 60)}.`,
    `It ended with: ${quote(all.slice(-60), 60)}.`,
    'Nothing else is open.',
  ].join(' ');
}

/**
 * Carries an `answer` reaction out within the limit, behind a thought where there is one. A thought that reaches the
 * limit leaves no room for a single word. A refusal without content, and content that thinks already, stay as they are.
 */
export function compose(
  reaction: Extract<Reaction, { do: 'answer' }>,
  call: ClaudeCall,
  limit: OutputLimit,
  ratio: number,
  thought: Thought | undefined,
): Composed {
  const given = reaction.content as Block[] | undefined;
  const isComplete = given?.some(isThinking) || (reaction.stopReason === 'refusal' && given?.length === 0);
  if (thought === undefined || isComplete) return wordsOf(reaction, call, limit, ratio);
  const left = limit.tokens - thought.tokens;
  const begun = thoughtBlock({ ...thought, tokens: Math.min(thought.tokens, limit.tokens) });
  if (left <= 0) return { content: [begun], stopReason: limit.stopReason };
  const { content, stopReason } = wordsOf(reaction, call, { ...limit, tokens: left }, ratio);
  return { content: [begun, ...content], stopReason };
}

/** What is said, cut to the limit. Given content is not cut: a test that gives it knows best. */
function wordsOf(
  reaction: Extract<Reaction, { do: 'answer' }>,
  call: ClaudeCall,
  limit: OutputLimit,
  ratio: number,
): Composed {
  if (reaction.content !== undefined) {
    const content = reaction.content as Block[];
    const calls = content.some(({ type }) => type === 'tool_use');
    return { content, stopReason: reaction.stopReason ?? (calls ? 'tool_use' : 'end_turn') };
  }
  const text = reaction.text ?? defaultText(call);
  if (contentTokens([{ type: 'text', text }], ratio) <= limit.tokens) {
    return { content: text === '' ? [] : [{ type: 'text', text }], stopReason: reaction.stopReason ?? 'end_turn' };
  }
  const kept = cutToTokens(text, limit.tokens - contentTokens([{ type: 'text', text: '' }], ratio), ratio);
  return {
    content: kept === '' ? [] : [{ type: 'text', text: kept }],
    stopReason: reaction.stopReason ?? limit.stopReason,
  };
}
