/** Each call has its own result in the next message, before anything else. The provider's tools answer themselves. */

import { type Block, isServerResult, isServerSide } from '../block.ts';
import { isName } from './blocks.ts';
import type { RuleName, Violation } from './validate.ts';

/** A message whose content is a list of blocks. */
export interface Turn {
  readonly role: unknown;
  readonly content: readonly Block[];
}

/** The paths of calls that wait for their results, by the ids of the calls. */
type Waiting = Map<unknown, string>;

/**
 * `user-last`, `tool-pairs`, `result-has-call`, `one-result`, `call-id-unique`, `results-first`, `name-legal` for ids, and
 * `server-pairs`: a call of the provider's tool has its result in the same answer, or in the next one where only results
 * of our own tools stand between them. The last answer may still wait for results of the provider.
 */
export function* pairViolations(turns: readonly Turn[]): Generator<Violation> {
  const used = new Set<unknown>();
  let own: Waiting = new Map();
  let served: Waiting = new Map();
  for (const [at, turn] of turns.entries()) {
    const path = `messages.${at}.content`;
    if (turn.role === 'user') {
      if (!handsOver(turns[at - 1], turn)) yield* unanswered(served, 'server-pairs');
      yield* resultViolations(turn.content, path, own);
      continue;
    }
    const late = served;
    [own, served] = [new Map(), new Map()];
    for (const [index, block] of turn.content.entries()) {
      const { id, tool_use_id, type } = block;
      const place = `${path}.${index}`;
      if (type === 'tool_use' || type === 'server_tool_use') {
        if (type === 'tool_use' && !isName(id)) yield { rule: 'name-legal', path: place };
        if (used.has(id)) yield { rule: 'call-id-unique', path: place };
        used.add(id);
        (type === 'tool_use' ? own : served).set(id, place);
      } else if (isServerResult(block) && !served.delete(tool_use_id) && !late.delete(tool_use_id))
        yield { rule: 'server-pairs', path: place };
    }
    yield* unanswered(late, 'server-pairs');
  }
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return;
  yield* unanswered(own, 'tool-pairs');
  // A turn that the provider's tool paused ends with that tool's call or result.
  if (!last.content.slice(-1).some(isServerSide)) yield { rule: 'user-last', path: `messages.${turns.length - 1}` };
}

/** Checks the results of a message against the calls of the message before. */
function* resultViolations(content: readonly Block[], path: string, calls: Waiting): Generator<Violation> {
  const waiting = new Map(calls);
  for (const [index, { tool_use_id: id, type }] of content.entries()) {
    if (type !== 'tool_result') continue;
    const place = `${path}.${index}`;
    if (!isName(id)) yield { rule: 'name-legal', path: place };
    if (!calls.has(id)) yield { rule: 'result-has-call', path: place };
    if (!waiting.delete(id)) yield { rule: 'one-result', path: place };
    if (content[index - 1]?.type !== 'tool_result' && index > 0) yield { rule: 'results-first', path: place };
  }
  yield* unanswered(waiting, 'tool-pairs');
}

function* unanswered(calls: Waiting, rule: RuleName): Generator<Violation> {
  for (const path of calls.values()) yield { rule, path };
}

/** Whether a message holds only what our tools returned for an answer: then the provider goes on with that answer. */
function handsOver(answer: Turn | undefined, { content }: Turn): boolean {
  const hasCalls = answer?.content.some(({ type }) => type === 'tool_use') ?? false;
  return hasCalls && content.every(({ type }) => type === 'tool_result');
}
