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
}

/** The calls of an answer that wait for their results, and where it stands. */
interface Waiting {
  readonly at: number;
  readonly names: ReadonlyMap<unknown, string>;
}

/** Whether a message is nothing but what the client's own tools returned for the answer before it. */
function isHandedOver(answer: Message | undefined, { content }: Message): boolean {
  const calls = blocksOf(answer?.content ?? []).some(({ type }) => type === 'tool_use');
  return calls && blocksOf(content).every(({ type }) => type === 'tool_result');
}

/** Reads one answer: what it leaves open, or what is wrong in it. */
function readAnswer(
  { content }: Message,
  at: number,
  before: Waiting | undefined,
  served: ServedBlocks,
): { waiting: Waiting } | { violation: Violation } {
  const late = new Map(before?.names);
  const names = new Map<unknown, string>();
  for (const [index, block] of blocksOf(content).entries()) {
    const path = `messages.${at}.content.${index}`;
    if (served.isAltered(block))
      return { violation: violation(29, `${path}: Invalid \`encrypted_content\` in \`${block.type}\` block.`) };
    if (block.type === 'server_tool_use') names.set(block.id, String(block.name));
    else if (isServerResult(block) && !names.delete(block.tool_use_id) && !late.delete(block.tool_use_id))
      return { violation: unexpected(block, path) };
  }
  const missing = before && unanswered({ at: before.at, names: late });
  return missing === undefined ? { waiting: { at, names } } : { violation: missing };
}

function unanswered({ at, names }: Waiting): Violation | undefined {
  const [first] = names;
  if (first === undefined) return undefined;
  const [id, name] = first;
  return violation(
    27,
    `messages.${at}: \`${name}\` tool use with id \`${String(id)}\` was found without a corresponding \`${name}_tool_result\` block`,
  );
}

function unexpected({ type, tool_use_id }: Block, path: string): Violation {
  return violation(
    27,
    `${path}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${String(tool_use_id)}. Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`,
  );
}

/**
 * Rules 27 and 29: each call of the server's tools has its result behind it, and both are as the server wrote them. The
 * result may come in the next answer, where only results of the client's tools stand between; what comes last may still
 * wait.
 */
export function checkServed({ messages }: MessagesRequest, { memory }: Grounds): Violation | undefined {
  let waiting: Waiting | undefined;
  return firstOf(messages, (message, at) => {
    if (message.role === 'assistant') {
      const read = readAnswer(message, at, waiting, memory.served);
      if ('violation' in read) return read.violation;
      waiting = read.waiting;
      return undefined;
    }
    if (waiting === undefined || isHandedOver(messages[at - 1], message)) return undefined;
    return unanswered(waiting);
  });
}
