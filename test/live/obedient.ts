import type { ReactionRule } from '../stand-in/claude/reaction.ts';
import { ASKS_FOR_TOOL, LOOK } from './turn-expectations.ts';

/** How a stand-in plays a model that calls a tool when it is told to. */
export const obeys: ReactionRule = ({ body, pendingText }) =>
  pendingText === ASKS_FOR_TOOL && body.messages.length === 1
    ? { do: 'answer', content: [{ type: 'tool_use', id: 'toolu_1', name: LOOK.name, input: { thing: 'boat' } }] }
    : undefined;
