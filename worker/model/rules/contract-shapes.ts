import type { Block } from '../block.ts';
/** The shapes of what we write ourselves: which keys a block, a source or a tool has, and with which kind of value. */

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

type Test = (value: unknown) => boolean;

/** The keys of one kind of object. What is not listed is refused by the API. */
export interface Shape {
  readonly must: ReadonlyMap<string, Test>;
  /** What a value may be, for every key that may be there. */
  readonly known: ReadonlyMap<string, Test>;
}

function shape(must: Readonly<Record<string, Test>>, may: Readonly<Record<string, Test>> = {}): Shape {
  const needed = Object.entries(must);
  // What is needed is never taken away, whatever it is: that it is wrong is another fault.
  const kept = needed.map(([key]): [string, Test] => [key, anything]);
  return { must: new Map(needed), known: new Map([...kept, ...Object.entries(may)]) };
}

/** Whether a value is a JSON object, neither null nor a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a block as far as every block is one: an object that says its type. */
export function isBlock(value: unknown): value is Block {
  return isFields(value) && typeof value.type === 'string';
}

/** Rule 13: what a tool and a call may be named. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value);
}

/** Rule 14: whether a value is a cache breakpoint that counts. */
export function isBreakpoint(value: unknown): boolean {
  if (!isFields(value) || value.type !== 'ephemeral') return false;
  const { ttl } = value;
  return (
    Object.keys(value).every((key) => key === 'type' || key === 'ttl') && [undefined, '5m', '1h'].includes(ttl as never)
  );
}

const anything: Test = () => true;
const text: Test = (value) => typeof value === 'string';
const fields: Test = isFields;
const list: Test = Array.isArray;
const marker: Test = (value) => value === null || isBreakpoint(value);
/** Citations are the model's to write. */
const noCitations: Test = (value) => value === null || (Array.isArray(value) && value.length === 0);

const MARKED = { cache_control: marker };
const TEXT = shape({ type: text, text }, { ...MARKED, citations: noCitations });
const IMAGE = shape({ type: text, source: fields }, { ...MARKED, transformations: anything });
const DOCUMENT = shape(
  { type: text, source: fields },
  { ...MARKED, citations: anything, context: anything, title: anything },
);
const SEARCH_RESULT = shape(
  { type: text, content: list, source: text, title: text },
  { ...MARKED, citations: anything },
);

/** Blocks that may stand in a user's message, by type. */
export const USER_SHAPES: ReadonlyMap<string, Shape> = new Map([
  ['text', TEXT],
  ['image', IMAGE],
  ['document', DOCUMENT],
  ['search_result', SEARCH_RESULT],
  ['container_upload', shape({ type: text, file_id: text }, MARKED)],
  [
    'tool_result',
    shape(
      { type: text, tool_use_id: anything },
      {
        ...MARKED,
        content: (value) => typeof value === 'string' || Array.isArray(value),
        is_error: (value) => typeof value === 'boolean',
        toolset_name: anything,
      },
    ),
  ],
]);

/** Blocks that may stand in the result of a tool, by type. */
export const RESULT_SHAPES: ReadonlyMap<string, Shape> = new Map([
  ['text', TEXT],
  ['image', IMAGE],
  ['document', DOCUMENT],
  ['search_result', SEARCH_RESULT],
  ['tool_reference', shape({ type: text, tool_name: text }, MARKED)],
  ['browser_state', shape({ type: text, tabs: anything }, { ...MARKED, state_changes: anything })],
]);

/** The system prompt is text alone. */
export const SYSTEM_SHAPES: ReadonlyMap<string, Shape> = new Map([['text', TEXT]]);

/** What an image or a document is made from, by type. */
export const SOURCE_SHAPES: ReadonlyMap<unknown, Shape> = new Map([
  ['base64', shape({ type: text, data: text, media_type: text })],
  ['url', shape({ type: text, url: text })],
  ['file', shape({ type: text, file_id: text })],
  ['text', shape({ type: text, data: text, media_type: text })],
  ['content', shape({ type: text, content: anything })],
]);

/** A tool of our own. Those of the server have keys that are the server's business. */
export const TOOL_SHAPE = shape(
  { name: anything, input_schema: anything },
  {
    ...MARKED,
    allowed_callers: anything,
    defer_loading: anything,
    description: anything,
    eager_input_streaming: anything,
    input_examples: anything,
    strict: anything,
    type: anything,
  },
);

export const MESSAGE_SHAPE = shape({ role: anything, content: anything });

/** Whether everything that a shape demands is there. A key without a value is no key: JSON does not write it. */
export function hasNeeded(object: Fields, { must }: Shape): boolean {
  for (const [key, test] of must) if (object[key] === undefined || !test(object[key])) return false;
  return true;
}

/** The object without the keys that its shape does not know or whose value cannot be: the same one when there are none. */
export function trimmed<Kind extends Fields>(object: Kind, { known }: Shape): Kind {
  const isKept = (key: string): boolean => object[key] === undefined || known.get(key)?.(object[key]) === true;
  const keys = Object.keys(object);
  return keys.every(isKept)
    ? object
    : (Object.fromEntries(keys.filter(isKept).map((key) => [key, object[key]])) as Kind);
}

/** Whether a tool is one of ours, and not one that the server runs. */
export function isOwnTool(tool: Fields): boolean {
  return tool.type === undefined || tool.type === null || tool.type === 'custom';
}

/** Rule 12: blocks that only the model writes. */
export const MODEL_ONLY: ReadonlySet<string> = new Set([
  'tool_use',
  'server_tool_use',
  'thinking',
  'redacted_thinking',
]);
/** Rule 12: blocks that only the user's side writes. */
export const USER_ONLY: ReadonlySet<string> = new Set(['tool_result', 'image', 'document', 'search_result']);

export function isThinking(block: Block): boolean {
  return block.type === 'thinking' || block.type === 'redacted_thinking';
}

/**
 * Rule 16, as far as a block alone shows it: which rule thinking breaks that the model did not seal, or that lacks a part.
 * An aborted stream leaves such blocks behind.
 */
export function thinkingFault({ data, signature, thinking, type }: Block): 16 | 25 | undefined {
  const parts = type === 'thinking' ? [thinking, signature] : [data];
  if (!parts.every((part) => typeof part === 'string')) return 25;
  const isSealed = type === 'thinking' ? /^[A-Za-z0-9+/_-]{16,}={0,2}$/.test(String(signature)) : data !== '';
  return isSealed ? undefined : 16;
}

/** The result of a tool that ran on the server: the model sends it, and nobody answers it. */
export function isServerResult(block: Block): boolean {
  return block.type !== 'tool_result' && block.type.endsWith('_tool_result');
}

/** Rule 4: a turn that a server's tool paused ends with that tool's call or result. */
export function isServerSide(block: Block): boolean {
  return isServerResult(block) || (block.type !== 'tool_use' && block.type.endsWith('tool_use'));
}
