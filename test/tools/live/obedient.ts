import type { ReactionRule } from '../../stand-in/claude/reaction.ts';
import { ASKS_FOR_TOOL, LOOK } from './turn-expectations.ts';

/** How a stand-in plays a model that calls a tool when it is told to, and that searches before it answers a question. */
export const obeys: ReactionRule = ({ body, pendingText }) => {
  if (pendingText === ASKS_FOR_TOOL && body.messages.length === 1) return toolCall(LOOK.name, { thing: 'boat' });
  if (!body.tools?.some(({ name }) => name === 'recall')) return undefined;
  const newest = body.messages.at(-1)?.content;
  const [result] = Array.isArray(newest) ? newest.filter(({ type }) => type === 'tool_result') : [];
  // The whole of what it found is its answer: it cannot tell what was never said.
  return result ? { do: 'answer', text: JSON.stringify(result.content) } : toolCall('recall', { query: pendingText });
};

function toolCall(name: string, input: object): ReturnType<ReactionRule> {
  return { do: 'answer', content: [{ type: 'tool_use', id: 'toolu_1', name, input }] };
}
