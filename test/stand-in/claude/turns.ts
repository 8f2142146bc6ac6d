/** The order of turns, and that each of them says something (rules 1 to 6, 12 and 17). */

import { type Block, blocksOf, isObject, type Message, type MessagesRequest, nestedBlocks } from './request.ts';
import { isServerSide } from './served.ts';
import { firstOf, type Grounds, type Violation, violation } from './violation.ts';

/** Rules 1 and 2: there is a first message, and the user speaks it. */
export function checkStart({ messages }: MessagesRequest): Violation | undefined {
  if (messages.length === 0) return violation(1, 'messages: at least one message is required');
  return messages[0]?.role === 'user' ? undefined : violation(2, 'messages: first message must use the "user" role');
}

/** Rule 3. The API itself merges neighbours, but proxies in front of it do not. */
export function checkAlternation({ messages }: MessagesRequest): Violation | undefined {
  return messages.some((message, at) => message.role === messages[at - 1]?.role)
    ? violation(3, 'messages: roles must alternate between "user" and "assistant", but found multiple in a row')
    : undefined;
}

/** Rule 4: the user has the last word, unless the model paused its turn and goes on. */
export function checkEnd({ messages }: MessagesRequest, { memory }: Grounds): Violation | undefined {
  const last = messages.at(-1);
  if (last === undefined || last.role === 'user') return undefined;
  const content = blocksOf(last.content);
  const end = content.at(-1);
  // A turn that a server's tool paused ends with that tool's call or result, also when another server wrote it.
  if (memory.endsPaused(content) || (end !== undefined && isServerSide(end))) return undefined;
  return violation(
    4,
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  );
}

/** Rule 5: a message without content is refused. */
export function checkContent({ messages }: MessagesRequest): Violation | undefined {
  return firstOf(messages, ({ content }, at) =>
    content.length === 0
      ? violation(
          5,
          `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
        )
      : undefined,
  );
}

function checkText(text: unknown, where: string): Violation | undefined {
  if (text === '') return violation(6, `${where}: text content blocks must be non-empty`);
  return typeof text === 'string' && text.trim() === ''
    ? violation(6, `${where}: text content blocks must contain non-whitespace text`)
    : undefined;
}

function checkBlockText(block: Block, where: string): Violation | undefined {
  if (block.type === 'text') return checkText(block.text, where);
  if (block.type !== 'tool_result') return undefined;
  return typeof block.content === 'string'
    ? checkText(block.content, where)
    : firstOf(nestedBlocks(block), (nested) => checkBlockText(nested, where));
}

/** Rule 6: no blank text, in tool results and the system prompt neither. */
export function checkTexts({ messages, system }: MessagesRequest): Violation | undefined {
  return (
    firstOf(Array.isArray(system) ? system : [], (block) => checkBlockText(block, 'system')) ??
    firstOf(messages, ({ content }) => firstOf(blocksOf(content), (block) => checkBlockText(block, 'messages')))
  );
}

const ASSISTANT_ONLY = ['tool_use', 'server_tool_use', 'thinking', 'redacted_thinking'];
const USER_ONLY = ['tool_result', 'image', 'document', 'search_result', 'container_upload'];

/** Rule 12, and the same for every other block that only one side may speak. */
export function checkSides({ messages }: MessagesRequest): Violation | undefined {
  const misplaced = ({ role, content }: Message, at: number): Violation | undefined => {
    const [forbidden, side] = role === 'user' ? [ASSISTANT_ONLY, 'assistant'] : [USER_ONLY, 'user'];
    const block = blocksOf(content).find(({ type }) => forbidden.includes(type));
    return block && violation(12, `messages.${at}: \`${block.type}\` blocks can only be in \`${side}\` messages`);
  };
  return firstOf(messages, misplaced) ?? firstOf(messages, checkUserCitations);
}

/** Citations are the model's to write: on a user's text they are refused. */
function checkUserCitations({ role, content }: Message, at: number): Violation | undefined {
  const cites = ({ type, citations }: Block): boolean =>
    type === 'text' && Array.isArray(citations) && citations.length > 0;
  const index = role === 'user' ? blocksOf(content).findIndex(cites) : -1;
  return index < 0
    ? undefined
    : violation(25, `messages.${at}.content.${index}.text.citations: citations are not permitted in \`user\` messages`);
}

/** Rule 17: a half of a surrogate pair, in any key or value, makes the body no JSON in the API's eyes. */
export function checkUnicode(value: unknown): Violation | undefined {
  if (typeof value === 'string') {
    if (value.isWellFormed()) return undefined;
    const shown = JSON.stringify(value.toWellFormed().slice(0, 20));
    return violation(
      17,
      `The request body is not valid JSON: no low surrogate in string: line 1 column 1 (near ${shown})`,
    );
  }
  if (Array.isArray(value)) return firstOf(value, checkUnicode);
  if (!isObject(value)) return undefined;
  return firstOf(Object.entries(value), ([key, each]) => checkUnicode(key) ?? checkUnicode(each));
}
