/** Tool calls and their results belong together (rules 7 to 11). */

import { blocksOf, type Message, type MessagesRequest } from './request.ts';
import { type Violations, violation } from './violation.ts';

const callIds = (message: Message | undefined): string[] =>
  message?.role === 'assistant'
    ? blocksOf(message.content).flatMap(({ type, id }) => (type === 'tool_use' ? [String(id)] : []))
    : [];

/** Rule 10, then 8 and 9, then 7 and 11: each of them in the whole request before the next. */
export function* pairViolations({ messages }: MessagesRequest): Violations {
  const contents = messages.map(({ content }) => blocksOf(content));
  const seen = new Set<unknown>();
  for (const [at, content] of contents.entries())
    for (const [index, { type, id }] of content.entries()) {
      if (type !== 'tool_use' && type !== 'server_tool_use') continue;
      if (seen.has(id)) yield violation(10, `messages.${at}.content.${index}: \`tool_use\` ids must be unique`);
      seen.add(id);
    }
  for (const [at, content] of contents.entries()) {
    const open = new Set(callIds(messages[at - 1]));
    const waiting = new Set(open);
    for (const [index, { type, tool_use_id }] of content.entries()) {
      if (type !== 'tool_result') continue;
      const id = String(tool_use_id);
      const place = `messages.${at}.content.${index}`;
      if (!open.has(id))
        yield violation(
          8,
          `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        );
      if (!waiting.delete(id))
        yield violation(
          9,
          `${place}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
        );
    }
  }
  for (const [at, message] of messages.entries()) {
    const next = (contents[at + 1] ?? []).map(({ type, tool_use_id: id }) =>
      type === 'tool_result' ? String(id) : '',
    );
    const leading = next.slice(0, [...next, ''].indexOf(''));
    const missing = callIds(message).filter((id) => !leading.includes(id));
    if (missing.length > 0)
      yield violation(
        missing.every((id) => next.includes(id)) ? 11 : 7,
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
  }
}
