import type { Block } from '../session/record.ts';
import type { WireRequest } from './contract.ts';
import type { ModelRequest } from './model.ts';

/** Marks the end of a prefix that the provider may keep; at most four are allowed in a request. */
const BREAKPOINT = { cache_control: { type: 'ephemeral' } } as const;
/** A breakpoint finds a kept prefix at most this many blocks before it. */
const LOOK_BACK_BLOCKS = 20;

/**
 * The request as it goes over the wire. A conversation's prefix is marked so that the next turn reads it from the
 * cache: after the tools and the system prompt, at the end, and once in between when a turn added more blocks than a breakpoint looks
 * back. Pure; texts are never changed.
 */
export function wireRequest(request: ModelRequest): WireRequest {
  const { model, maxTokens, system } = request;
  const messages = request.messages as unknown as WireRequest['messages'];
  if (!request.caches) return { model, max_tokens: maxTokens, system, messages };
  const tools = (request.tools ?? []).map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }));
  const prompt: Block[] = system.trim() === '' ? [] : [{ type: 'text', text: system, ...BREAKPOINT }];
  const marked = new Set(breakpoints(messages.map(({ content }) => blocksOf(content))));
  return {
    model,
    max_tokens: maxTokens,
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && request.wordsOnly && { tool_choice: { type: 'none' } }),
    ...(prompt.length > 0 && { system: prompt }),
    messages: messages.map((message, index) =>
      marked.has(index) ? { ...message, content: withBreakpoint(blocksOf(message.content)) } : message,
    ),
  };
}

/** The messages whose ends are marked: the last, and an earlier one as far back as a breakpoint reaches. */
function breakpoints(contents: readonly (readonly Block[])[]): number[] {
  const last = contents.length - 1;
  let blocks = 0;
  for (let at = last; at >= 0; at--) {
    blocks += contents[at]?.length ?? 0;
    if (blocks > LOOK_BACK_BLOCKS && at < last)
      return [at, last].filter((index) => isMarkable(contents[index]?.at(-1)));
  }
  return [last].filter((index) => isMarkable(contents[index]?.at(-1)));
}

function withBreakpoint(blocks: readonly Block[]): Block[] {
  return blocks.map((block, index) => (index === blocks.length - 1 ? { ...block, ...BREAKPOINT } : block));
}

/** Thinking cannot carry a marker, and an empty text must not. */
function isMarkable(block: Block | undefined): boolean {
  if (block === undefined || block.type === 'thinking' || block.type === 'redacted_thinking') return false;
  return block.type !== 'text' || (typeof block.text === 'string' && block.text.trim() !== '');
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}
