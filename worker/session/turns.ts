import type { Block } from '../model/block.ts';
import type { MessageParam } from '../model/port.ts';
import { isThinking } from '../model/rules/blocks.ts';
import type { Origin } from './view.ts';

/** A block of a request, and its place in the log, if it has one. */
export interface Placed {
  block: Block;
  origin?: Origin;
}

interface Turn {
  role: 'user' | 'assistant';
  placed: Placed[];
}

const INTERRUPTED = 'No result: the call was interrupted.';

/** The turns of a conversation: roles alternate, no turn is empty, and each call has its result. */
export class Turns {
  readonly #turns: Turn[] = [];

  /** Adds what a record shows. Neighbours of one role become one turn; a call without a result gets one that says so. */
  add(role: Turn['role'], shown: readonly Placed[]): void {
    if (shown.length === 0) return;
    this.#leaveOutOpenCalls(role, shown);
    const last = this.#turns.at(-1);
    if (last?.role === role) last.placed.push(...shown);
    else this.#turns.push({ role, placed: [...(role === 'user' ? interruptedCalls(last, shown) : []), ...shown] });
  }

  /**
   * Leaves out calls of the provider's tools that were cut off, with the thinking of their answer. Such a call may wait for
   * the next record of the same answer, and where only results of our own tools stand between them, for the next answer.
   */
  #leaveOutOpenCalls(role: Turn['role'], shown: readonly Placed[]): void {
    const at = this.#turns.findLastIndex((turn) => turn.role === 'assistant');
    const answer = this.#turns[at];
    if (answer === undefined) return;
    const isHandedOver = callIds(answer).length > 0 && shown.every(({ block }) => block.type === 'tool_result');
    if (at === this.#turns.length - 1 && (role === 'assistant' || isHandedOver)) return;
    const answered = new Set([...answer.placed, ...shown].map(({ block }) => block.tool_use_id));
    const left = answer.placed.filter(({ block }) => block.type !== 'server_tool_use' || answered.has(block.id));
    if (left.length === answer.placed.length) return;
    answer.placed = left.filter(({ block }) => !isThinking(block));
    if (answer.placed.length === 0) this.#turns.splice(at, 1);
  }

  /** The messages of a request, and the origin of each block that has one. */
  finished(): { messages: MessageParam[]; origins: ReadonlyMap<unknown, Origin> } {
    const placed = this.#turns.flatMap((turn) => turn.placed);
    const origins = new Map(placed.flatMap(({ block, origin }) => (origin ? [[block, origin] as const] : [])));
    const messages = this.#turns.map((turn) => ({ role: turn.role, content: turn.placed.map(({ block }) => block) }));
    return { messages: messages as unknown as MessageParam[], origins };
  }
}

function callIds({ placed }: Turn): unknown[] {
  return placed.flatMap(({ block }) => (block.type === 'tool_use' ? [block.id] : []));
}

/** Results for the calls of an answer that have none. */
function interruptedCalls(answer: Turn | undefined, shown: readonly Placed[]): Placed[] {
  if (answer?.role !== 'assistant') return [];
  const answered = new Set(shown.map(({ block }) => block.tool_use_id));
  const open = callIds(answer).filter((id) => !answered.has(id));
  return open.map((id) => ({
    block: { type: 'tool_result', tool_use_id: id, content: INTERRUPTED, is_error: true },
  }));
}
