import type { Block } from '../model/block.ts';
import type { MessageParam } from '../model/port.ts';
import { labelOf } from './label.ts';

/** The source of a picture or a document in the log: a reference to bytes in the media store. */
interface KeptSource {
  type: 'kept';
  sha256: string;
  media_type: string;
}

/** The ids of all stored bytes that messages refer to, each once, in order of first occurrence. Pure. */
export function keptIn(messages: readonly MessageParam[]): string[] {
  return [...new Set(messages.flatMap(idsIn))];
}

function idsIn(message: MessageParam): string[] {
  const ids: string[] = [];
  withBlocks(message, (block) => {
    if (isKept(block) && typeof block.source.sha256 === 'string') ids.push(block.source.sha256);
    return block;
  });
  return ids;
}

/**
 * Puts stored bytes into the messages of a request: each reference becomes a source of the Messages API or, if `loaded` lacks
 * the bytes, a text which says that the file is no longer stored. One block replaces one block, so positions do not change; a
 * message without a reference stays the same object. Pure.
 */
export function fill(messages: readonly MessageParam[], loaded: ReadonlyMap<string, Buffer>): MessageParam[] {
  return messages.map((message) => withBlocks(message, (block) => (isKept(block) ? fillBlock(block, loaded) : block)));
}

type KeptBlock = Block & { source: KeptSource };

function isKept(block: Block): block is KeptBlock {
  const { source } = (block ?? {}) as { source?: Partial<KeptSource> | null };
  return source?.type === 'kept';
}

function fillBlock({ source, ...block }: KeptBlock, loaded: ReadonlyMap<string, Buffer>): Block {
  const bytes = loaded.get(source.sha256);
  if (bytes !== undefined)
    return { ...block, source: { type: 'base64', media_type: source.media_type, data: bytes.toString('base64') } };
  const { cache_control: breakpoint } = block;
  const text = `[${labelOf({ ...block, source })}: no longer stored]`;
  return { type: 'text', text, ...(breakpoint !== undefined && { cache_control: breakpoint }) };
}

/** Applies `change` to the blocks of a message; in a tool result, to the blocks inside. Only users' messages have files. */
function withBlocks(message: MessageParam, change: (block: Block) => Block): MessageParam {
  if (message.role !== 'user' || typeof message.content === 'string') return message;
  const blocks = message.content as unknown as readonly Block[];
  const content = mapBlocks(blocks, (block) => {
    if (block.type !== 'tool_result' || !Array.isArray(block.content)) return change(block);
    const nested = mapBlocks(block.content as Block[], change);
    return nested === block.content ? block : { ...block, content: nested };
  });
  return content === blocks ? message : ({ ...message, content } as unknown as MessageParam);
}

/** Maps a list; returns the same list if no block changed. */
function mapBlocks(blocks: readonly Block[], change: (block: Block) => Block): readonly Block[] {
  const result = blocks.map(change);
  return result.every((block, at) => block === blocks[at]) ? blocks : result;
}
