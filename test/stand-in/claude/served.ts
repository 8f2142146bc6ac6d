/** Blocks that the server's own tools wrote: a call, and its result, which is sealed. They come back as they were. */

import { type Block, blocksOf, type Message, type MessagesRequest } from './request.ts';
import { canonical } from './segments.ts';
import { firstOf, type Grounds, type Violation, violation } from './violation.ts';

/** Whether a block is the result of a tool that ran on the server. */
export function isServerResult({ type }: Block): boolean {
  return type !== 'tool_result' && type.endsWith('_tool_result');
}

/** Whether a block is the server's own work: the call of its tool, or the result. */
export function isServerSide(block: Block): boolean {
  return block.type === 'server_tool_use' || isServerResult(block);
}

const keyOf = ({ type, id, tool_use_id }: Block): string => `${type} ${String(id ?? tool_use_id)}`;

/** The server-side blocks of all answers. */
export class ServedBlocks {
  readonly #prints = new Map<string, string>();

  remember(content: readonly Block[]): void {
    for (const block of content) {
      if (isServerSide(block)) this.#prints.set(keyOf(block), canonical(block));
    }
  }

  /** Whether a block is one of ours, but not as it was. One that another server wrote cannot be judged. */
  isAltered(block: Block): boolean {
    const print = this.#prints.get(keyOf(block));
    return print !== undefined && print !== canonical(block);
  }

  /** Whether a call of ours had its result in an answer. */
  hasResult({ id, name }: Block): boolean {
    return this.#prints.has(`${String(name)}_tool_result ${String(id)}`);
  }
}

function checkMessage({ role, content }: Message, at: number, served: ServedBlocks): Violation | undefined {
  if (role !== 'assistant') return undefined;
  const blocks = blocksOf(content);
  const results = new Set(blocks.filter(isServerResult).map(({ tool_use_id }) => tool_use_id));
  const calls = new Set<unknown>();
  return firstOf(blocks, (block, index) => {
    const path = `messages.${at}.content.${index}`;
    if (served.isAltered(block))
      return violation(15, `${path}: Invalid \`encrypted_content\` in \`${block.type}\` block.`);
    if (block.type === 'server_tool_use') {
      calls.add(block.id);
      return results.has(block.id) || !served.hasResult(block) ? undefined : unanswered(block, at);
    }
    return isServerResult(block) && !calls.has(block.tool_use_id) ? unexpected(block, path) : undefined;
  });
}

function unanswered({ id, name }: Block, at: number): Violation {
  const result = `${String(name)}_tool_result`;
  return violation(
    7,
    `messages.${at}: \`${String(name)}\` tool use with id \`${String(id)}\` was found without a corresponding \`${result}\` block`,
  );
}

function unexpected({ type, tool_use_id }: Block, path: string): Violation {
  return violation(
    8,
    `${path}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${String(tool_use_id)}. Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`,
  );
}

/** Each result of the server stands behind its call, and both are as the server wrote them. */
export function checkServed({ messages }: MessagesRequest, { memory }: Grounds): Violation | undefined {
  return firstOf(messages, (message, at) => checkMessage(message, at, memory.served));
}
