import { isFields } from '../../../shared/base/fields.ts';
import { type Block, isWellFormed, textBlock } from '../block.ts';
import type { ModelLimits } from '../port.ts';
import {
  blockViolations,
  type Fields,
  isBreakpoint,
  isThinking,
  SYSTEM_SHAPES,
  toolViolations,
  userBlockViolations,
} from './blocks.ts';
import { mediaViolations, type PlacedBlock } from './media.ts';
import { pairViolations, type Turn } from './pairs.ts';

/** A request as it goes over the wire. */
export interface WireRequest {
  model: string;
  max_tokens: number;
  system?: string | Block[];
  tools?: unknown[];
  output_config?: { effort: string };
  messages: { role: string; content: string | Block[] }[];
}

/**
 * The rules of the Messages API that can be checked on a request alone, with their numbers in the stand-in of the API. Rule
 * 18 limits the bytes, and `HISTORY_BYTES_MAX` is lower. Rules 19 and 20 need a tokenizer, and 29 needs the original answer.
 */
export const RULES = {
  'messages-present': 1, // There are messages, 100,000 at most
  'user-first': 2, // Roles are user and assistant, and the user begins
  'roles-alternate': 3, // No two messages of the same role in a row
  'user-last': 4, // The last message is the user's, unless a provider's tool paused the turn
  'message-not-empty': 5, // Each message has content
  'text-not-blank': 6, // No text is empty or only white space
  'tool-pairs': 7, // Each call has its result in the next message
  'result-has-call': 8, // Each result answers a call of the previous message
  'one-result': 9, // Each call has one result
  'call-id-unique': 10, // No two calls have the same id
  'results-first': 11, // Results come before anything else in their message
  'block-side': 12, // Calls and thinking are the model's, results the user’s
  'name-legal': 13, // Legal names and ids, no two tools with the same name, inputs are objects
  'breakpoints-few': 14, // Four cache breakpoints at most
  'thinking-leads': 15, // Thinking never ends a message
  'thinking-sealed': 16, // Thinking has its signature, or its encrypted data
  'unicode-whole': 17, // No key or text contains a lone surrogate
  'output-tokens': 21, // max_tokens is whole, and in the model's range
  'media-readable': 22, // A picture is of its stated kind, one that the API knows, and at most 5 MB in base64; a file is a PDF
  'image-size': 23, // At most 8000 px a side, or 2000 px if over 20 images; 100 images (600 in a long window)
  'pdf-pages': 24, // A PDF has 100 pages at most (600 in a long window), and no password
  'known-shape': 25, // Only keys and types that the API knows
  'error-in-words': 26, // The result of a failed call contains only text
  'server-pairs': 27, // A call to a provider's tool has its result, unless the call is still pending
  'citations-given': 28, // Citations have the keys that the API accepts
} as const;

export type RuleName = keyof typeof RULES;

/** A rule that a request breaks, and the place, such as `messages.3.content.0`. Contains no text of the request. */
export interface Violation {
  rule: RuleName;
  path: string;
}

/** The maximum number of cache breakpoints in a request. */
export const BREAKPOINTS_MAX = 4;
const MESSAGES_MAX = 100_000;
const MESSAGE_KEYS: ReadonlySet<string> = new Set(['role', 'content']);

/**
 * Finds the first rule that a request to a model with these limits breaks; `undefined` for a valid request. Without a known
 * window, the limits of a short window apply. Pure; never throws, whatever the request is.
 */
export function findViolation(request: WireRequest, facts: Partial<ModelLimits>): Violation | undefined {
  return isFields(request) ? violationsIn(request, facts).next().value : { rule: 'known-shape', path: '' };
}

function* violationsIn(request: Fields, facts: Partial<ModelLimits>): Generator<Violation, undefined> {
  const { messages, ...top } = request;
  yield* topViolations(top, facts);
  if (!Array.isArray(messages)) return void (yield { rule: 'known-shape', path: 'messages' });
  if (messages.length === 0 || messages.length > MESSAGES_MAX) yield { rule: 'messages-present', path: 'messages' };
  const turns: Turn[] = [];
  for (const [at, message] of messages.entries()) {
    yield* messageViolations(message, `messages.${at}`, turns.at(-1)?.role);
    const { role, content } = message;
    turns.push({ role, content: typeof content === 'string' ? [textBlock(content)] : content });
  }
  const blocks = turns.flatMap(({ role, content }, at) =>
    content.map((block, index) => ({ role, block, path: `messages.${at}.content.${index}` })),
  );
  for (const { block, path, role } of blocks) {
    if (!isWellFormed(block)) yield { rule: 'unicode-whole', path };
    yield* blockViolations(block, path, role);
  }
  for (const [at, { content }] of turns.entries())
    if (content.slice(-1).some(isThinking)) yield { rule: 'thinking-leads', path: `messages.${at}` };
  yield* pairViolations(turns);
  const allBlocks = blocks.flatMap(withNested);
  yield* mediaViolations(allBlocks, facts.windowTokens);
  const holders = [request, request.system, request.tools, allBlocks.map(({ block }) => block)].flat();
  const breakpoints = holders.filter((holder) => isFields(holder) && isBreakpoint(holder.cache_control));
  if (breakpoints.length > BREAKPOINTS_MAX) yield { rule: 'breakpoints-few', path: '' };
}

/** Checks everything but the messages. */
function* topViolations(top: Fields, { maxOutputTokens = Infinity }: Partial<ModelLimits>): Generator<Violation> {
  const { model, max_tokens, system = '', tools = [] } = top;
  for (const key in top) if (!isWellFormed(top[key])) yield { rule: 'unicode-whole', path: key.toWellFormed() };
  if (typeof model !== 'string') yield { rule: 'known-shape', path: 'model' };
  if (!Number.isInteger(max_tokens) || Number(max_tokens) < 1 || Number(max_tokens) > maxOutputTokens)
    yield { rule: 'output-tokens', path: 'max_tokens' };
  if (Array.isArray(system))
    for (const [at, block] of system.entries()) yield* userBlockViolations(block, `system.${at}`, SYSTEM_SHAPES);
  else if (typeof system !== 'string') yield { rule: 'known-shape', path: 'system' };
  if (Array.isArray(tools)) yield* toolViolations(tools);
  else yield { rule: 'known-shape', path: 'tools' };
}

function* messageViolations(message: unknown, path: string, roleBefore: unknown): Generator<Violation> {
  if (!isFields(message) || Object.keys(message).some((key) => !MESSAGE_KEYS.has(key)))
    return yield { rule: 'known-shape', path };
  const { content, role } = message;
  const isRole = role === 'user' || role === 'assistant';
  if (!isRole || (roleBefore === undefined && role !== 'user')) yield { rule: 'user-first', path };
  if (role === roleBefore) yield { rule: 'roles-alternate', path };
  if (!Array.isArray(content) && typeof content !== 'string') yield { rule: 'known-shape', path };
  else if (content.length === 0) yield { rule: 'message-not-empty', path };
}

/** The blocks inside a tool's result, then the block itself. */
function withNested({ block, path }: PlacedBlock): PlacedBlock[] {
  const nested: readonly Block[] = Array.isArray(block.content) && block.type === 'tool_result' ? block.content : [];
  return [...nested.map((each, at) => ({ block: each, path: `${path}.content.${at}` })), { block, path }];
}
