/** Tool calls and their results belong together (rules 7 to 11). */

import { type Block, blocksOf, type Message, type MessagesRequest } from './request.ts';
import { firstOf, type Violation, violation } from './violation.ts';

const callIds = (message: Message | undefined): string[] =>
  message?.role === 'assistant'
    ? blocksOf(message.content).flatMap((block) => (block.type === 'tool_use' ? [String(block.id)] : []))
    : [];

const isResult = (block: Block): boolean => block.type === 'tool_result';

/** Rule 10: an id names one call in the whole request. */
export function checkUniqueCalls({ messages }: MessagesRequest): Violation | undefined {
  const seen = new Set<string>();
  return firstOf(messages, (message, at) =>
    firstOf(blocksOf(message.content), (block, index) => {
      if (block.type !== 'tool_use' && block.type !== 'server_tool_use') return undefined;
      const id = String(block.id);
      if (seen.has(id)) return violation(10, `messages.${at}.content.${index}: \`tool_use\` ids must be unique`);
      seen.add(id);
      return undefined;
    }),
  );
}

/** Rules 8 and 9: each result answers a call of the message before it, and answers it once. */
export function checkResults({ messages }: MessagesRequest): Violation | undefined {
  return firstOf(messages, (message, at) => {
    const open = new Set(callIds(messages[at - 1]));
    const answered = new Set<string>();
    return firstOf(blocksOf(message.content), (block, index) => {
      if (!isResult(block)) return undefined;
      const id = String(block.tool_use_id);
      if (!open.has(id)) return unexpectedResult(at, index, id);
      if (answered.has(id)) {
        return violation(
          9,
          `messages.${at}.content.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
        );
      }
      answered.add(id);
      return undefined;
    });
  });
}

function unexpectedResult(at: number, index: number, id: string): Violation {
  return violation(
    8,
    `messages.${at}.content.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  );
}

/** Rules 7 and 11: every call has its result in the next message, before anything else that stands there. */
export function checkCalls({ messages }: MessagesRequest): Violation | undefined {
  return firstOf(messages, (message, at) => {
    const next = blocksOf(messages[at + 1]?.content ?? []);
    const leading = new Set(leadingResults(next));
    const missing = callIds(message).filter((id) => !leading.has(id));
    if (missing.length === 0) return undefined;
    const isLate = missing.every((id) => next.some((block) => isResult(block) && block.tool_use_id === id));
    return violation(
      isLate ? 11 : 7,
      `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  });
}

/** The ids of the results that stand before any other block. */
function leadingResults(content: readonly Block[]): string[] {
  const end = content.findIndex((block) => !isResult(block));
  return content.slice(0, end < 0 ? content.length : end).map((block) => String(block.tool_use_id));
}
