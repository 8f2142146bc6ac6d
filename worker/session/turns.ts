import type { Block } from '../model/block.ts';
import type { MessageParam } from '../model/port.ts';
import { isThinking } from '../model/rules/blocks.ts';
import type { Origin } from './view.ts';

/** A block of a request, and its place in the log, if the block comes from the log. */
export interface BlockWithOrigin {
  block: Block;
  origin?: Origin;
}

interface Turn {
  role: 'user' | 'assistant';
  blocks: BlockWithOrigin[];
}

const INTERRUPTED = 'No result: the call was interrupted.';

/** The turns of a conversation: roles alternate, no turn is empty, and each call before a user's turn has its result. */
export class Turns {
  readonly #turns: Turn[] = [];

  /** Adds a record's blocks to the last turn if the roles are equal, else as a new turn. Adds error results for open calls. */
  add(role: Turn['role'], blocks: readonly BlockWithOrigin[]): void {
    if (blocks.length === 0) return;
    this.#omitOpenCalls(role, blocks);
    const last = this.#turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else this.#turns.push({ role, blocks: [...(role === 'user' ? missingResults(last, blocks) : []), ...blocks] });
  }

  /**
   * Omits calls without a result to the provider's tools, and the thinking of the same answer. Keeps such a call while it may
   * still get its result: from the next record of the same answer or, after only results of other tools, from the next answer.
   */
  #omitOpenCalls(role: Turn['role'], blocks: readonly BlockWithOrigin[]): void {
    const at = this.#turns.findLastIndex((turn) => turn.role === 'assistant');
    const answer = this.#turns[at];
    if (answer === undefined) return;
    const hasOnlyResults = callIds(answer).length > 0 && blocks.every(({ block }) => block.type === 'tool_result');
    if (at === this.#turns.length - 1 && (role === 'assistant' || hasOnlyResults)) return;
    const withResult = new Set([...answer.blocks, ...blocks].map(({ block }) => block.tool_use_id));
    const rest = answer.blocks.filter(({ block }) => block.type !== 'server_tool_use' || withResult.has(block.id));
    if (rest.length === answer.blocks.length) return;
    answer.blocks = rest.filter(({ block }) => !isThinking(block));
    if (answer.blocks.length === 0) this.#turns.splice(at, 1);
  }

  /** The messages of a request, and the origin of each block that has one. */
  toRequest(): { messages: MessageParam[]; origins: ReadonlyMap<unknown, Origin> } {
    const blocks = this.#turns.flatMap((turn) => turn.blocks);
    const origins = new Map(blocks.flatMap(({ block, origin }) => (origin ? [[block, origin] as const] : [])));
    const messages = this.#turns.map((turn) => ({ role: turn.role, content: turn.blocks.map(({ block }) => block) }));
    return { messages: messages as unknown as MessageParam[], origins };
  }
}

function callIds({ blocks }: Turn): unknown[] {
  return blocks.flatMap(({ block }) => (block.type === 'tool_use' ? [block.id] : []));
}

/** Error results for those calls of an answer that have no result among these blocks. */
function missingResults(answer: Turn | undefined, blocks: readonly BlockWithOrigin[]): BlockWithOrigin[] {
  if (answer?.role !== 'assistant') return [];
  const withResult = new Set(blocks.map(({ block }) => block.tool_use_id));
  const openCalls = callIds(answer).filter((id) => !withResult.has(id));
  return openCalls.map((id) => ({
    block: { type: 'tool_result', tool_use_id: id, content: INTERRUPTED, is_error: true },
  }));
}
