/**
 * What the model and its server wrote comes back as it was: thinking (rules 15 and 16), the calls of server tools, and
 * their sealed results (27 and 29).
 */

import type { AnswerMemory } from './memory.ts';
import { type Block, blocksOf, isServerResult, isThinking, type Message, type MessagesRequest } from './request.ts';
import { canonical, fingerprints, segmentsOf } from './segments.ts';
import { type Grounds, type Violation, type Violations, violation } from './violation.ts';

const modified = (at: number, index: number): Violation =>
  violation(
    15,
    `messages.${at}.content.${index}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
  );

const unsigned = (at: number, index: number, why = ''): Violation =>
  violation(16, `messages.${at}.content.${index}: Invalid \`signature\` in \`thinking\` block.${why}`);

const BOUND_ELSEWHERE =
  ' The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';

/** Rules 15 and 16. Thinking leads to something, so it never ends a message. */
export function* thinkingViolations(request: MessagesRequest, { bindThinking, memory }: Grounds): Violations {
  const contents = request.messages.map(({ content }) => blocksOf(content));
  for (const [at, content] of contents.entries())
    if (content.slice(-1).some(isThinking))
      yield violation(15, `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`);
  const latest = request.messages.findLastIndex(({ role }) => role === 'assistant');
  yield* latestViolations(contents[latest] ?? [], latest, request, memory);
  for (const [at, content] of contents.entries()) {
    const forged = content.findIndex((block) => isThinking(block) && isForged(block, memory));
    if (forged >= 0) yield unsigned(at, forged);
  }
  if (!bindThinking || !contents.flat().some(isThinking)) return;
  const prints = fingerprints(segmentsOf(request));
  for (const [at, { block, messageIndex, blockIndex }] of segmentsOf(request).entries())
    if (isThinking(block as Block) && memory.issuedThinking(block as Block)?.prefix !== (prints[at - 1] ?? ''))
      yield unsigned(messageIndex, blockIndex, BOUND_ELSEWHERE);
}

/**
 * Rule 15: in the latest assistant message every answer's thinking is whole, unmodified and in order. All of it may
 * be left out where the request does not ask for thinking: that is the only way out of an invalid signature.
 */
function* latestViolations(
  content: readonly Block[],
  at: number,
  { thinking }: MessagesRequest,
  memory: AnswerMemory,
): Violations {
  const altered = content.findIndex((block) => isThinking(block) && memory.isAltered(block));
  if (altered >= 0) yield modified(at, altered);
  const held = content.filter(isThinking).map(canonical);
  for (const answer of memory.answersIn(content)) {
    const written = memory.thinkingOf(answer);
    const start = held.indexOf(written[0] ?? '');
    const isWhole = start >= 0 && written.every((print, offset) => held[start + offset] === print);
    const isDropped = !written.some((print) => held.includes(print));
    if (!isWhole && (!isDropped || thinking !== undefined)) yield modified(at, 0);
  }
}

/** A signature that another server wrote cannot be judged here; where nothing is bound, one that looks like one will do. */
function isForged(block: Block, memory: AnswerMemory): boolean {
  const isKnown = memory.issuedThinking(block) !== undefined || block.type !== 'thinking';
  return memory.isAltered(block) || !(isKnown || /^[A-Za-z0-9+/]{16,}={0,2}$/.test(String(block.signature)));
}

/** Whether a message is nothing but what the client's own tools returned for the answer before it. */
function isHandedOver(answer: Message | undefined, { content }: Message): boolean {
  const calls = blocksOf(answer?.content ?? []).some(({ type }) => type === 'tool_use');
  return calls && blocksOf(content).every(({ type }) => type === 'tool_result');
}

/**
 * Rules 27 and 29: each call of the server's tools has its result behind it, and both are as the server wrote them. The
 * result may come in the next answer, where only results of the client's tools stand between; what comes last may still
 * wait.
 */
export function* servedViolations({ messages }: MessagesRequest, { memory }: Grounds): Violations {
  /** The calls of the latest answer, and of the one before it, that have no result: the tool's name by the call's id. */
  let waiting = new Map<unknown, unknown>();
  let waitsAt = 0;
  for (const [at, message] of messages.entries()) {
    if (message.role === 'user') {
      if (!isHandedOver(messages[at - 1], message)) yield* unanswered(waiting, waitsAt);
      continue;
    }
    const late = waiting;
    waiting = new Map();
    for (const [index, block] of blocksOf(message.content).entries()) {
      const { type, id, tool_use_id } = block;
      const path = `messages.${at}.content.${index}`;
      if (memory.isServedAltered(block))
        yield violation(29, `${path}: Invalid \`encrypted_content\` in \`${type}\` block.`);
      if (type === 'server_tool_use') waiting.set(id, block.name);
      else if (isServerResult(block) && !waiting.delete(tool_use_id) && !late.delete(tool_use_id))
        yield violation(
          27,
          `${path}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${tool_use_id}. Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`,
        );
    }
    yield* unanswered(late, waitsAt);
    waitsAt = at;
  }
}

function* unanswered(waiting: ReadonlyMap<unknown, unknown>, at: number): Violations {
  for (const [id, name] of waiting)
    yield violation(
      27,
      `messages.${at}: \`${name}\` tool use with id \`${id}\` was found without a corresponding \`${name}_tool_result\` block`,
    );
}
