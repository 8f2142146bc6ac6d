import { isFields } from '../../../shared/base/fields.ts';
/** The shapes of what we write ourselves: which keys a block, a source or a tool has, and with which kind of value. */
import type { Block } from '../block.ts';

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

type Test = (value: unknown) => boolean;
type Tests = Readonly<Record<string, Test>>;

/** The keys of one kind of object, and what their values may be. What is not listed is refused by the API. */
export interface Shape {
  readonly must: ReadonlyMap<string, Test>;
  readonly may: ReadonlyMap<string, Test>;
}

function shape(must: Tests, may: Tests = {}): Shape {
  return { must: new Map(Object.entries(must)), may: new Map(Object.entries(may)) };
}

/** Whether a value is a block as far as every block is one: an object that says its type. */
export function isBlock(value: unknown): value is Block {
  return isFields(value) && typeof value.type === 'string';
}

/** Whether a value may name a tool or a call. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value);
}

/** Whether everything that a shape demands is there. A key without a value is no key: JSON does not write it. */
export function hasNeeded(object: Fields, { must }: Shape): boolean {
  for (const [key, test] of must) if (object[key] === undefined || !test(object[key])) return false;
  return true;
}

/**
 * The object without the keys that its shape does not know or whose value cannot be: the same one when there are none.
 */
export function trimmed<Kind extends Fields>(object: Kind, { may, must }: Shape): Kind {
  // What is needed is never taken away, whatever it is: that it is wrong is another fault.
  const isKept = (key: string): boolean =>
    must.has(key) || object[key] === undefined || may.get(key)?.(object[key]) === true;
  for (const key in object)
    if (!isKept(key)) return Object.fromEntries(Object.entries(object).filter(([each]) => isKept(each))) as Kind;
  return object;
}

const BREAKPOINT = shape(
  { type: (value) => value === 'ephemeral' },
  { ttl: (value) => value === '5m' || value === '1h' },
);

/** Whether a value is a cache breakpoint that counts. */
export function isBreakpoint(value: unknown): boolean {
  return isFields(value) && hasNeeded(value, BREAKPOINT) && trimmed(value, BREAKPOINT) === value;
}

/** Whether something holds such a breakpoint. */
export function isMarked(holder: unknown): holder is Fields {
  return isFields(holder) && isBreakpoint(holder.cache_control);
}

/** The same block or tool without its breakpoint. */
export function unmarked<Holder extends Fields>({ cache_control, ...unmarked }: Holder): Omit<Holder, 'cache_control'> {
  return unmarked;
}

const anything: Test = () => true;
const text: Test = (value) => typeof value === 'string';
const any = (keys: string): Tests => Object.fromEntries(keys.split(' ').map((key) => [key, anything]));
/** Citations are the model's to write. */
const noCitations: Test = (value) => value === null || (Array.isArray(value) && value.length === 0);
const MARKED: Tests = { cache_control: (value) => value === null || isBreakpoint(value) };

function blockShape(must: Tests, may: Tests = {}): Shape {
  return shape({ type: text, ...must }, { ...MARKED, ...may });
}

const TEXT = blockShape({ text }, { citations: noCitations });
/** Blocks that we write in messages and in the results of tools alike. */
const SHARED = {
  text: TEXT,
  image: blockShape({ source: isFields }, any('transformations')),
  document: blockShape({ source: isFields }, any('citations context title')),
  search_result: blockShape({ content: Array.isArray, source: text, title: text }, any('citations')),
};
const RESULT = blockShape(any('tool_use_id'), {
  content: (value) => typeof value === 'string' || Array.isArray(value),
  is_error: (value) => typeof value === 'boolean',
  toolset_name: anything,
});

/** Blocks by type, or sources. */
export type Shapes = ReadonlyMap<unknown, Shape>;

/** Blocks that may stand in a user's message. */
export const USER_SHAPES: Shapes = new Map(
  Object.entries({ ...SHARED, container_upload: blockShape({ file_id: text }), tool_result: RESULT }),
);

/** Blocks that may stand in the result of a tool. */
export const RESULT_SHAPES: Shapes = new Map(
  Object.entries({
    ...SHARED,
    tool_reference: blockShape({ tool_name: text }),
    browser_state: blockShape({ tabs: anything }, any('state_changes')),
  }),
);

function modelShape(keys: string): Shape {
  return shape({ type: text }, any(`cache_control ${keys}`));
}

const SERVED = modelShape('caller content tool_use_id');
/**
 * The keys that the API takes back in the blocks that it writes: it has keys of its own in some of them. Thinking is not here,
 * since it goes back as it was or not at all.
 */
export const MODEL_SHAPES: Shapes = new Map(
  Object.entries({
    text: modelShape('citations text'),
    tool_use: modelShape('caller id input name toolset_name'),
    server_tool_use: modelShape('caller id input name'),
    web_search_tool_result: SERVED,
    web_fetch_tool_result: SERVED,
    code_execution_tool_result: SERVED,
    bash_code_execution_tool_result: SERVED,
    text_editor_code_execution_tool_result: SERVED,
    tool_search_tool_result: SERVED,
  }),
);

function citationShape(keys: string): Shape {
  return shape({ type: text, ...any(`cited_text ${keys}`) });
}

/** The same of citations, which say where they were found. */
export const CITATION_SHAPES: Shapes = new Map(
  Object.entries({
    char_location: citationShape('document_index document_title end_char_index start_char_index'),
    page_location: citationShape('document_index document_title end_page_number start_page_number'),
    content_block_location: citationShape('document_index document_title end_block_index start_block_index'),
    search_result_location: citationShape('end_block_index search_result_index source start_block_index title'),
    web_search_result_location: citationShape('encrypted_index title url'),
  }),
);

/** The system prompt is text alone. */
export const SYSTEM_SHAPES: Shapes = new Map([['text', TEXT]]);

/** The sources of an image or a document, by type. */
export const SOURCE_SHAPES: Shapes = new Map(
  Object.entries({
    base64: shape({ type: text, data: text, media_type: text }),
    url: shape({ type: text, url: text }),
    file: shape({ type: text, file_id: text }),
    text: shape({ type: text, data: text, media_type: text }),
    content: shape({ type: text, content: anything }),
  }),
);

/** A tool of our own. Those of the server have keys that are the server's business. */
export const TOOL_SHAPE = shape(any('name input_schema'), {
  ...MARKED,
  ...any('allowed_callers defer_loading description eager_input_streaming input_examples strict type'),
});

export const MESSAGE_SHAPE = shape(any('role content'));

/** Whether a block is a picture or a document. */
export function isMedia({ type }: Block): boolean {
  return type === 'image' || type === 'document';
}

/** Whether a block is the model's own thinking, readable or not. */
export function isThinking({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}
