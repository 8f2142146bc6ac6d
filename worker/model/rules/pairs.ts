/** The rules about calls and results. Results of our tools begin the next message; a provider's results are in the answer. */

import { type Block, isServerResult, isServerSide } from '../block.ts';
import { isName } from './blocks.ts';
import type { RuleName, Violation } from './validate.ts';

/** A message whose content is a list of blocks. */
export interface Turn {
  readonly role: unknown;
  readonly content: readonly Block[];
}

/** The paths of calls that wait for their results, by the ids of the calls. */
type OpenCalls = Map<unknown, string>;

/**
 * Checks `user-last`, `tool-pairs`, `result-has-call`, `one-result`, `call-id-unique`, `results-first`, `name-legal` for
 * ids, and `server-pairs`: a call to a provider's tool has its result in the same answer or, if only results of our own
 * tools stand between the two answers, in the next answer. The last answer may still lack results of the provider.
 */
export function* pairViolations(turns: readonly Turn[]): Generator<Violation> {
  const callIds = new Set<unknown>();
  let toolCalls: OpenCalls = new Map();
  let serverCalls: OpenCalls = new Map();
  for (const [at, turn] of turns.entries()) {
    const path = `messages.${at}.content`;
    if (turn.role === 'user') {
      if (!hasOnlyResults(turns[at - 1], turn)) yield* missingResults(serverCalls, 'server-pairs');
      yield* resultViolations(turn.content, path, toolCalls);
      continue;
    }
    const earlierServerCalls = serverCalls;
    [toolCalls, serverCalls] = [new Map(), new Map()];
    for (const [index, block] of turn.content.entries()) {
      const { id, tool_use_id, type } = block;
      const blockPath = `${path}.${index}`;
      if (type === 'tool_use' || type === 'server_tool_use') {
        if (type === 'tool_use' && !isName(id)) yield { rule: 'name-legal', path: blockPath };
        if (callIds.has(id)) yield { rule: 'call-id-unique', path: blockPath };
        callIds.add(id);
        (type === 'tool_use' ? toolCalls : serverCalls).set(id, blockPath);
      } else if (isServerResult(block) && !serverCalls.delete(tool_use_id) && !earlierServerCalls.delete(tool_use_id))
        yield { rule: 'server-pairs', path: blockPath };
    }
    yield* missingResults(earlierServerCalls, 'server-pairs');
  }
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return;
  yield* missingResults(toolCalls, 'tool-pairs');
  // A turn that the provider's tool paused ends with that tool's call or result.
  if (!last.content.slice(-1).some(isServerSide)) yield { rule: 'user-last', path: `messages.${turns.length - 1}` };
}

/** Checks the results of a message against the calls of the previous message. */
function* resultViolations(content: readonly Block[], path: string, calls: OpenCalls): Generator<Violation> {
  const openCalls = new Map(calls);
  for (const [index, { tool_use_id: id, type }] of content.entries()) {
    if (type !== 'tool_result') continue;
    const blockPath = `${path}.${index}`;
    if (!isName(id)) yield { rule: 'name-legal', path: blockPath };
    if (!calls.has(id)) yield { rule: 'result-has-call', path: blockPath };
    if (!openCalls.delete(id)) yield { rule: 'one-result', path: blockPath };
    if (content[index - 1]?.type !== 'tool_result' && index > 0) yield { rule: 'results-first', path: blockPath };
  }
  yield* missingResults(openCalls, 'tool-pairs');
}

function* missingResults(calls: OpenCalls, rule: RuleName): Generator<Violation> {
  for (const path of calls.values()) yield { rule, path };
}

/** Whether a message has only results, and follows an answer that calls our tools. The provider then continues that answer. */
function hasOnlyResults(answer: Turn | undefined, { content }: Turn): boolean {
  const hasCalls = answer?.content.some(({ type }) => type === 'tool_use') ?? false;
  return hasCalls && content.every(({ type }) => type === 'tool_result');
}
