import type { ToolSpec } from '../../tools/toolbox.ts';
import { type Block, textBlock } from '../block.ts';
import type { CacheLifetime, ModelRequest } from '../port.ts';
import { BREAKPOINTS_MAX, type WireRequest } from '../rules/validate.ts';

/** Marks the end of a prefix for the provider's cache. A request may have at most four breakpoints. */
type Breakpoint = { cache_control: { type: 'ephemeral'; ttl?: CacheLifetime } };

/** The types of blocks that accept a breakpoint. Thinking does not; whether other blocks of an answer do is unknown. */
const MARKABLE: ReadonlySet<string> = new Set(['text', 'image', 'document', 'tool_use', 'tool_result']);
/** One of the breakpoints is for the tools and the system prompt. */
const MESSAGE_BREAKPOINTS_MAX = BREAKPOINTS_MAX - 1;

/**
 * Builds the wire format of a request. Breakpoints let the next request read the conversation's prefix from the cache. One
 * follows the tools and the system prompt, and up to three are in messages (`messagesToMark`). A request that does not cache
 * has no breakpoints and no tools. Pure; changes no text.
 */
export function wireRequest(request: ModelRequest): WireRequest {
  const { model, maxTokens, system, effort } = request;
  const messages = request.messages as unknown as WireRequest['messages'];
  const head = { model, max_tokens: maxTokens, ...(effort !== undefined && { output_config: { effort } }) };
  if (!request.caches) return { ...head, system, messages };
  const breakpoint = breakpointOf(request.cacheLifetime);
  const prompt: Block[] = system.trim() === '' ? [] : [{ ...textBlock(system), ...breakpoint }];
  const tools = [...(request.tools ?? []).map(toolOf), ...(request.serverTools ?? [])];
  const indexesToMark = messagesToMark(messages);
  return {
    ...head,
    ...(tools.length > 0 && { tools: prompt.length > 0 ? tools : markAt(tools, tools.length - 1, breakpoint) }),
    ...(tools.length > 0 && request.wordsOnly && { tool_choice: { type: 'none' } }),
    ...(prompt.length > 0 && { system: prompt }),
    messages: messages.map((message, index) =>
      indexesToMark.has(index) ? { ...message, content: markEnd(blocksOf(message.content), breakpoint) } : message,
    ),
  };
}

function breakpointOf(lifetime: CacheLifetime = '5m'): Breakpoint {
  return { cache_control: { type: 'ephemeral', ...(lifetime === '1h' && { ttl: lifetime }) } };
}

function toolOf({ name, description, inputSchema }: ToolSpec) {
  return { name, description, input_schema: inputSchema };
}

/**
 * The indexes of the messages that get a breakpoint: the last message, and up to two user messages before it. The provider
 * looks back only 20 blocks from a breakpoint, so a turn with 25 calls and results would miss the cached prefix. But the last
 * message of one request is an earlier user message of the next request, so a breakpoint there finds the prefix, however
 * many blocks follow. The third breakpoint helps if another model answered the last request, or none did.
 */
function messagesToMark(messages: WireRequest['messages']): ReadonlySet<number> {
  const last = messages.length - 1;
  const ends = messages.flatMap(({ role }, at) => (role === 'user' && at < last ? [at] : []));
  return new Set([last, ...ends.slice(1 - MESSAGE_BREAKPOINTS_MAX)]);
}

/** Adds the breakpoint to the last block that accepts one. The choice of the block does not depend on later messages. */
function markEnd(blocks: readonly Block[], breakpoint: Breakpoint): Block[] {
  return markAt(blocks, blocks.findLastIndex(isMarkable), breakpoint);
}

function markAt<Item>(items: readonly Item[], at: number, breakpoint: Breakpoint): Item[] {
  return items.map((item, index) => (index === at ? { ...item, ...breakpoint } : item));
}

/** Whether a block accepts a breakpoint. Blank text does not. */
function isMarkable({ type, text }: Block): boolean {
  return MARKABLE.has(type) && (type !== 'text' || String(text).trim() !== '');
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [textBlock(content)] : content;
}
