/** What the model says: the content, and the reason why it stopped. */
import { contentTokens, cutToTokens } from './counting.ts';
import type { AnswerReaction, ClaudeCall } from './reaction.ts';
import { type Block, blocksOf, isThinking } from './request.ts';
import { thoughtTokens } from './thought.ts';

interface Composed {
  readonly content: Block[];
  readonly stopReason: string;
}

/** How many tokens an answer may have, and what stops it at that point. */
export interface OutputLimit {
  readonly tokens: number;
  readonly stopReason: string;
}

const quote = (text: string): string => text.toWellFormed().trim();

/** The answer of a model that was not told what to say: it shows which message it has read. */
function defaultText({ kind, body, pendingText }: ClaudeCall): string {
  if (kind === 'main') return `You said: ${quote(pendingText.slice(0, 80))}`;
  const blocks = body.messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'text');
  const all = blocks
    .map(({ text }) => text)
    .join(' ')
    .replace(/\s+/g, ' ');
  const parts = `${blocks.length} part${blocks.length === 1 ? '' : 's'} of ${all.length} characters`;
  return `The conversation so far was read in ${parts}. It began with: ${quote(all.slice(0, 60))}. It ended with: ${quote(all.slice(-60))}. Nothing else is open.`;
}

/**
 * Carries an `answer` reaction out within the limit, behind a thought where there is one. A thought that reaches the
 * limit leaves no room for a single word. A refusal without content, and content that thinks already, stay as they are.
 */
export function compose(
  reaction: AnswerReaction,
  call: ClaudeCall,
  limit: OutputLimit,
  ratio: number,
  thought: Block | undefined,
): Composed {
  const given = reaction.content as Block[] | undefined;
  const isComplete = given?.some(isThinking) || (reaction.stopReason === 'refusal' && given?.length === 0);
  if (thought === undefined || isComplete) return wordsOf(reaction, call, limit, ratio);
  const left = limit.tokens - (thoughtTokens(thought) ?? 0);
  if (left <= 0) return { content: [{ ...thought, tokens: limit.tokens }], stopReason: limit.stopReason };
  const { content, stopReason } = wordsOf(reaction, call, { ...limit, tokens: left }, ratio);
  return { content: [thought, ...content], stopReason };
}

/** What is said, cut to the limit. Given content is not cut: a test that gives it knows best. */
function wordsOf(reaction: AnswerReaction, call: ClaudeCall, limit: OutputLimit, ratio: number): Composed {
  const given = reaction.content as Block[] | undefined;
  const text = reaction.text ?? defaultText(call);
  const kept = cutToTokens(text, limit.tokens - contentTokens([{ type: 'text', text: '' }], ratio), ratio);
  const content = given ?? (kept === '' ? [] : [{ type: 'text', text: kept }]);
  const calls = content.some(({ type }) => type === 'tool_use');
  const stopReason = given === undefined && kept !== text ? limit.stopReason : calls ? 'tool_use' : 'end_turn';
  return { content, stopReason: reaction.stopReason ?? stopReason };
}
