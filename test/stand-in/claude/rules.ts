/**
 * The rules of the API contract, as far as a request alone shows them. Pure: the same request on the same grounds
 * breaks the same rule, and only the first violation is told, as the API does it.
 * Rule 19 is asked for apart: to meet it is nobody's mistake, since a client cannot know the real window.
 */
import { mediaViolations } from './media.ts';
import { servedViolations, thinkingViolations } from './owned.ts';
import { pairViolations } from './pairs.ts';
import { type Block, blocksOf, isObject, isServerSide, type MessagesRequest, nestedBlocks } from './request.ts';
import { shapeViolations, toolViolations } from './schema.ts';
import { segmentsOf } from './segments.ts';
import { type Grounds, type Violation, type Violations, violation } from './violation.ts';

/** Rule 18: the longest body, serialised. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024;
const BREAKPOINTS_MAX = 4;

/** The first rule of 1 to 17 and 21 to 29 that a parsed body breaks. Without one, the body is a `MessagesRequest`. */
export function firstViolation(body: unknown, grounds: Grounds): Violation | undefined {
  return violationsOf(body as MessagesRequest, grounds).next().value ?? undefined;
}

/** In the order in which the API notices: what is cheap and local comes before what looks across messages. */
function* violationsOf(request: MessagesRequest, grounds: Grounds): Violations {
  yield* unicodeViolations(request);
  yield* shapeViolations(request);
  yield* toolViolations(request.tools);
  yield* steeringViolations(request, grounds);
  yield* breakpointViolations(request);
  yield* turnViolations(request);
  yield* pairViolations(request);
  yield* servedViolations(request, grounds);
  yield* endViolations(request);
  yield* thinkingViolations(request, grounds);
  yield* mediaViolations(request, grounds);
}

/** Rule 19, with the numbers that it states. */
export function overflowViolation(observedTokens: number, limitTokens: number): Violation {
  return violation(19, `prompt is too long: ${observedTokens} tokens > ${limitTokens} maximum`);
}

/** Rule 17: a half of a surrogate pair, in any key or value, makes the body no JSON in the API's eyes. */
function* unicodeViolations(request: unknown): Violations {
  const text = brokenText(request);
  if (text === undefined) return;
  const near = JSON.stringify(text.toWellFormed().slice(0, 20));
  yield violation(17, `The request body is not valid JSON: no low surrogate in string: line 1 column 1 (near ${near})`);
}

function brokenText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  let broken: string | undefined;
  for (const [key, each] of Object.entries(value)) broken ??= brokenText(key) ?? brokenText(each);
  return broken;
}

/** How the model is steered: how much it writes, and which tools it may use (rules 21 and 25). */
function* steeringViolations(request: MessagesRequest, { maxOutputTokens }: Grounds): Violations {
  const { max_tokens, model, tool_choice, tools = [] } = request;
  if (max_tokens > maxOutputTokens)
    yield violation(
      21,
      `max_tokens: ${max_tokens} > ${maxOutputTokens}, which is the maximum allowed number of output tokens for ${model}`,
    );
  if (tool_choice !== undefined && tools.length === 0)
    yield violation(25, 'tool_choice: tool_choice may only be specified while providing tools.');
}

/** Rule 14. That a breakpoint looks back 20 blocks only is no error but a miss: see `cache.ts`. */
function* breakpointViolations(request: MessagesRequest): Violations {
  const { system = [], tools = [], messages } = request;
  const blocks = [system, ...messages.map(({ content }) => content)].flatMap(blocksOf);
  const all: Record<string, unknown>[] = [request, ...tools, ...blocks, ...blocks.flatMap(nestedBlocks)];
  const marked = all.filter((each) => isObject(each.cache_control));
  if (marked.length > BREAKPOINTS_MAX)
    yield violation(14, `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`);
  if (marked.some(({ type, text }) => type === 'text' && String(text).trim() === ''))
    yield violation(14, 'messages: cache_control cannot be set for empty text blocks');
  const lifetimes = segmentsOf(request).flatMap(({ lifetime }) => lifetime ?? []);
  if (lifetimes.includes('5m') && lifetimes.includes('1h', lifetimes.indexOf('5m')))
    yield violation(
      14,
      "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    );
}

const ASSISTANT_ONLY = ['tool_use', 'server_tool_use', 'thinking', 'redacted_thinking'];
const USER_ONLY = ['tool_result', 'image', 'document', 'container_upload'];

/** Rules 1 to 3, 5, 6 and 12: who speaks, and that everybody says something. */
function* turnViolations({ messages, system = [] }: MessagesRequest): Violations {
  if (messages.length === 0) yield violation(1, 'messages: at least one message is required');
  if (messages[0]?.role !== 'user') yield violation(2, 'messages: first message must use the "user" role');
  for (const [at, { content }] of messages.entries())
    if (content.length === 0)
      yield violation(
        5,
        `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
      );
  if (typeof system !== 'string') for (const block of system) yield* textViolations(block, 'system');
  for (const { content } of messages) for (const block of blocksOf(content)) yield* textViolations(block, 'messages');
  for (const [at, { role, content }] of messages.entries()) {
    const [forbidden, side] = role === 'user' ? [ASSISTANT_ONLY, 'assistant'] : [USER_ONLY, 'user'];
    const block = blocksOf(content).find(({ type }) => forbidden.includes(type));
    if (block) yield violation(12, `messages.${at}: \`${block.type}\` blocks can only be in \`${side}\` messages`);
  }
  // The API itself merges neighbours, but proxies in front of it do not.
  if (messages.some(({ role }, at) => role === messages[at - 1]?.role))
    yield violation(3, 'messages: roles must alternate between "user" and "assistant", but found multiple in a row');
}

/** Rules 6 and 26 for a block, and for those in a tool's result. */
function* textViolations(block: Block, where: string): Violations {
  const { type, content, is_error } = block;
  const text = type === 'text' ? block.text : type === 'tool_result' ? content : undefined;
  if (text === '') yield violation(6, `${where}: text content blocks must be non-empty`);
  if (typeof text === 'string' && text.trim() === '')
    yield violation(6, `${where}: text content blocks must contain non-whitespace text`);
  for (const nested of nestedBlocks(block)) {
    yield* textViolations(nested, where);
    if (is_error === true && nested.type !== 'text')
      yield violation(26, `${where}: tool_result: all content must be type "text" if "is_error" is true`);
  }
}

/** Rule 4: the user has the last word, unless a tool of the server paused the turn: then its call or result stands there. */
function* endViolations({ messages }: MessagesRequest): Violations {
  const last = messages.at(-1);
  const isPaused = blocksOf(last?.content ?? [])
    .slice(-1)
    .some(isServerSide);
  const why = 'The conversation must end with a user message.';
  if (last?.role !== 'user' && !isPaused)
    yield violation(4, `This model does not support assistant message prefill. ${why}`);
}
