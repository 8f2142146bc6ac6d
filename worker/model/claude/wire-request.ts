import type { ToolSpec } from '../../tools/toolbox.ts';
import { type Block, textBlock } from '../block.ts';
import type { CacheLifetime, ModelRequest } from '../port.ts';
import { BREAKPOINTS_MAX, type WireRequest } from '../rules/validate.ts';

/** Marks the end of a prefix that the provider may keep; at most four are allowed in a request. */
type Breakpoint = { cache_control: { type: 'ephemeral'; ttl?: CacheLifetime } };

/** Blocks that may carry a marker. Thinking cannot; for other blocks that a model wrote it is unknown. */
const MARKABLE: ReadonlySet<string> = new Set(['text', 'image', 'document', 'tool_use', 'tool_result']);
/** One marker stands behind tools and system prompt. */
const MESSAGES_MARKED_MAX = BREAKPOINTS_MAX - 1;

/**
 * The request as it goes over the wire. A conversation's prefix is marked so that the next request reads it from the
 * cache: after the tools and the system prompt, and in up to three messages (see `markedMessages`). Pure; texts are
 * never changed.
 */
export function wireRequest(request: ModelRequest): WireRequest {
  const { model, maxTokens, system, effort } = request;
  const messages = request.messages as unknown as WireRequest['messages'];
  const head = { model, max_tokens: maxTokens, ...(effort !== undefined && { output_config: { effort } }) };
  if (!request.caches) return { ...head, system, messages };
  const breakpoint = breakpointOf(request.cacheLifetime);
  const prompt: Block[] = system.trim() === '' ? [] : [{ ...textBlock(system), ...breakpoint }];
  const tools = [...(request.tools ?? []).map(toolOf), ...(request.serverTools ?? [])];
  const marked = markedMessages(messages);
  return {
    ...head,
    ...(tools.length > 0 && { tools: prompt.length > 0 ? tools : markAt(tools, tools.length - 1, breakpoint) }),
    ...(tools.length > 0 && request.wordsOnly && { tool_choice: { type: 'none' } }),
    ...(prompt.length > 0 && { system: prompt }),
    messages: messages.map((message, index) =>
      marked.has(index) ? { ...message, content: markEnd(blocksOf(message.content), breakpoint) } : message,
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
 * The messages that are marked: the last, and the two messages of the user's side before it. A breakpoint looks back 20
 * blocks only, so a turn of 25 calls and their results would miss the cached prefix. But a request ends with a message
 * of the user's side, and the next one carries that message in its middle: marked there again, the written prefix is
 * found where it ends, however many blocks follow. The one before that is for a request that another model answered, or
 * that got no answer.
 */
function markedMessages(messages: WireRequest['messages']): ReadonlySet<number> {
  const last = messages.length - 1;
  const ends = messages.flatMap(({ role }, at) => (role === 'user' && at < last ? [at] : []));
  return new Set([last, ...ends.slice(1 - MESSAGES_MARKED_MAX)]);
}

/** Marks the last block that can carry a marker: its place does not depend on what follows. */
function markEnd(blocks: readonly Block[], breakpoint: Breakpoint): Block[] {
  return markAt(blocks, blocks.findLastIndex(isMarkable), breakpoint);
}

function markAt<Item>(items: readonly Item[], at: number, breakpoint: Breakpoint): Item[] {
  return items.map((item, index) => (index === at ? { ...item, ...breakpoint } : item));
}

/** An empty text must not carry a marker. */
function isMarkable({ type, text }: Block): boolean {
  return MARKABLE.has(type) && (type !== 'text' || String(text).trim() !== '');
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [textBlock(content)] : content;
}
