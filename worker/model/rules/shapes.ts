/** The shapes of what we write ourselves: which keys a block, a source or a tool has, and with which kind of value. */
import type { Block } from '../block.ts';
import type { RuleName } from './rules.ts';

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

type Test = (value: unknown) => boolean;

type Tests = ReadonlyMap<string, Test>;

/** The keys of one kind of object, and what their values may be. What is not listed is refused by the API. */
export interface Shape {
  readonly must: Tests;
  readonly may: Tests;
}

function shape(must: Readonly<Record<string, Test>>, may: Readonly<Record<string, Test>> = {}): Shape {
  return { must: new Map(Object.entries(must)), may: new Map(Object.entries(may)) };
}

/** Whether a value is a JSON object, neither null nor a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a block as far as every block is one: an object that says its type. */
export function isBlock(value: unknown): value is Block {
  return isFields(value) && typeof value.type === 'string';
}

/** What a tool and a call may be named. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value);
}

/** Whether a value is a cache breakpoint that counts. */
export function isBreakpoint(value: unknown): boolean {
  if (!isFields(value) || value.type !== 'ephemeral') return false;
  const { ttl } = value;
  return (
    Object.keys(value).every((key) => key === 'type' || key === 'ttl') && [undefined, '5m', '1h'].includes(ttl as never)
  );
}

const anything: Test = () => true;
const text: Test = (value) => typeof value === 'string';
const MARKED = { cache_control: (value: unknown) => value === null || isBreakpoint(value) };
/** Citations are the model's to write. */
const noCitations: Test = (value) => value === null || (Array.isArray(value) && value.length === 0);
const any = (keys: string): Readonly<Record<string, Test>> =>
  Object.fromEntries(keys.split(' ').map((key) => [key, anything]));

const TEXT: [string, Shape] = ['text', shape({ type: text, text }, { ...MARKED, citations: noCitations })];
/** What we write in messages and in the results of tools alike. */
const SHARED: readonly [string, Shape][] = [
  TEXT,
  ['image', shape({ type: text, source: isFields }, { ...MARKED, ...any('transformations') })],
  ['document', shape({ type: text, source: isFields }, { ...MARKED, ...any('citations context title') })],
  [
    'search_result',
    shape({ type: text, content: Array.isArray, source: text, title: text }, { ...MARKED, ...any('citations') }),
  ],
];
const RESULT = shape(any('type tool_use_id'), {
  ...MARKED,
  content: (value) => typeof value === 'string' || Array.isArray(value),
  is_error: (value) => typeof value === 'boolean',
  toolset_name: anything,
});

/** Blocks that may stand in a user's message, by type. */
export const USER_SHAPES: ReadonlyMap<string, Shape> = new Map([
  ...SHARED,
  ['container_upload', shape({ type: text, file_id: text }, MARKED)],
  ['tool_result', RESULT],
]);

/** Blocks that may stand in the result of a tool, by type. */
export const RESULT_SHAPES: ReadonlyMap<string, Shape> = new Map([
  ...SHARED,
  ['tool_reference', shape({ type: text, tool_name: text }, MARKED)],
  ['browser_state', shape({ type: text, tabs: anything }, { ...MARKED, ...any('state_changes') })],
]);

/** The system prompt is text alone. */
export const SYSTEM_SHAPES: ReadonlyMap<string, Shape> = new Map([TEXT]);

/** What an image or a document is made from, by type. */
export const SOURCE_SHAPES: ReadonlyMap<unknown, Shape> = new Map([
  ['base64', shape({ type: text, data: text, media_type: text })],
  ['url', shape({ type: text, url: text })],
  ['file', shape({ type: text, file_id: text })],
  ['text', shape({ type: text, data: text, media_type: text })],
  ['content', shape({ type: text, content: anything })],
]);

/** A tool of our own. Those of the server have keys that are the server's business. */
export const TOOL_SHAPE = shape(any('name input_schema'), {
  ...MARKED,
  ...any('allowed_callers defer_loading description eager_input_streaming input_examples strict type'),
});

export const MESSAGE_SHAPE = shape(any('role content'));

/** Whether everything that a shape demands is there. A key without a value is no key: JSON does not write it. */
export function hasNeeded(object: Fields, { must }: Shape): boolean {
  for (const [key, test] of must) if (object[key] === undefined || !test(object[key])) return false;
  return true;
}

/** The object without the keys that its shape does not know or whose value cannot be: the same one when there are none. */
export function trimmed<Kind extends Fields>(object: Kind, { may, must }: Shape): Kind {
  // What is needed is never taken away, whatever it is: that it is wrong is another fault.
  const isKept = (key: string): boolean =>
    object[key] === undefined || must.has(key) || may.get(key)?.(object[key]) === true;
  const keys = Object.keys(object);
  return keys.every(isKept)
    ? object
    : (Object.fromEntries(keys.filter(isKept).map((key) => [key, object[key]])) as Kind);
}

/** Whether a tool is one of ours, and not one that the server runs. */
export function isOwnTool(tool: Fields): boolean {
  return tool.type === undefined || tool.type === null || tool.type === 'custom';
}

/** The first list where the second one has the same items. */
export function sameOr<Items extends readonly unknown[]>(
  before: Items,
  after: readonly unknown[],
): Items | typeof after {
  return before.length === after.length && before.every((item, at) => item === after[at]) ? before : after;
}

/** Blocks that only the model writes. */
export const MODEL_ONLY = new Set(['tool_use', 'server_tool_use', 'thinking', 'redacted_thinking']);

/** Blocks that only the user's side writes. */
export const USER_ONLY = new Set(['tool_result', 'image', 'document', 'search_result']);

/** Whether a block is a picture or a document. */
export function isMedia({ type }: Block): boolean {
  return type === 'image' || type === 'document';
}

/** Whether a block is the model's own thinking, readable or not. */
export function isThinking({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Which rule thinking violates that the model did not seal, or that lacks a part: an aborted stream leaves such blocks. */
export function thinkingFault({ data, signature, thinking, type }: Block): RuleName | undefined {
  const parts = type === 'thinking' ? [thinking, signature] : [data];
  if (!parts.every((part) => typeof part === 'string')) return 'known-shape';
  const isSealed = type === 'thinking' ? /^[A-Za-z0-9+/_-]{16,}={0,2}$/.test(String(signature)) : data !== '';
  return isSealed ? undefined : 'thinking-sealed';
}

/** The result of a tool that ran on the server: the model sends it, and nobody answers it. */
export function isServerResult(block: Block): boolean {
  return block.type !== 'tool_result' && block.type.endsWith('_tool_result');
}

/** A turn that a server's tool paused ends with that tool's call or result. */
export function isServerSide(block: Block): boolean {
  return isServerResult(block) || (block.type !== 'tool_use' && block.type.endsWith('tool_use'));
}
