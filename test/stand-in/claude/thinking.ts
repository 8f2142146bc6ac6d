/** Thinking blocks are the model's own: they come back as they were, or not at all (rules 15 and 16). */

import { isThinking } from './memory.ts';
import { type Block, blocksOf, type MessagesRequest } from './request.ts';
import { canonical, fingerprints, type Segment, segmentsOf } from './segments.ts';
import { firstOf, type Grounds, type Violation, violation } from './violation.ts';

function modified(at: number, index: number): Violation {
  return violation(
    15,
    `messages.${at}.content.${index}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
  );
}

function invalidSignature(at: number, index: number, why: string): Violation {
  return violation(16, `messages.${at}.content.${index}: Invalid \`signature\` in \`thinking\` block.${why}`);
}

/** Rule 15, its last part: thinking leads to something, so it never ends a message. */
export function checkThinkingEnd({ messages }: MessagesRequest): Violation | undefined {
  return firstOf(messages, ({ role, content }, at) => {
    const last = role === 'assistant' ? blocksOf(content).at(-1) : undefined;
    return last !== undefined && isThinking(last)
      ? violation(15, `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`)
      : undefined;
  });
}

/**
 * Rule 15: in the latest assistant message every answer's thinking is whole, unmodified and in order. All of it may
 * be left out where the request does not ask for thinking: that is the only way out of an invalid signature.
 */
export function checkLatestThinking(request: MessagesRequest, { memory }: Grounds): Violation | undefined {
  const at = request.messages.findLastIndex(({ role }) => role === 'assistant');
  const content = blocksOf(request.messages[at]?.content ?? []);
  const index = content.findIndex((block) => isThinking(block) && isAltered(block, memory));
  if (index >= 0) return modified(at, index);
  const asks = request.thinking !== undefined && request.thinking.type !== 'disabled';
  const held = content.filter(isThinking).map(canonical);
  return firstOf(memory.answersIn(content), (answer) => {
    const written = memory.thinkingOf(answer);
    const start = held.indexOf(written[0] ?? '');
    if (start >= 0 && written.every((print, offset) => held[start + offset] === print)) return undefined;
    const isDropped = written.length === 0 || !written.some((print) => held.includes(print));
    return isDropped && !asks ? undefined : modified(at, 0);
  });
}

function isAltered(block: Block, memory: Grounds['memory']): boolean {
  const issued = memory.issuedThinking(block);
  return issued === undefined ? memory.isForged(block) : issued.print !== canonical(block);
}

/**
 * Rule 16. A signature that another server wrote cannot be judged here: it is let through as long as thinking is
 * not bound. Where it is bound, nothing but our own block after the very same prefix will do.
 */
export function checkBinding(request: MessagesRequest, grounds: Grounds): Violation | undefined {
  const { memory } = grounds;
  const unsound = (block: Block): boolean =>
    isThinking(block) &&
    (isAltered(block, memory) || (memory.issuedThinking(block) === undefined && !looksSigned(block)));
  const forged = firstOf(request.messages, ({ content }, at) => {
    const index = blocksOf(content).findIndex(unsound);
    return index < 0 ? undefined : invalidSignature(at, index, '');
  });
  if (forged !== undefined) return forged;
  const unbound = unboundThinking(request, grounds)[0];
  return unbound && invalidSignature(unbound.messageIndex, unbound.blockIndex, BOUND_ELSEWHERE);
}

const BOUND_ELSEWHERE =
  ' The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';

/** The thinking blocks that do not stand where they were written, on a model that binds them. */
function unboundThinking(request: MessagesRequest, { bindThinking, memory }: Grounds): Segment[] {
  if (!bindThinking || !request.messages.some(({ content }) => blocksOf(content).some(isThinking))) return [];
  const segments = segmentsOf(request);
  const prints = fingerprints(segments);
  return segments.filter(({ block, messageIndex }, at) => {
    if (messageIndex < 0 || !isThinking(block as Block)) return false;
    return memory.issuedThinking(block as Block)?.prefix !== (prints[at - 1] ?? '');
  });
}

function looksSigned(block: Block): boolean {
  return block.type !== 'thinking' || /^[A-Za-z0-9+/]{16,}={0,2}$/.test(String(block.signature));
}
