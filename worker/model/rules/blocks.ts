/** The rules for a single block or tool (its sender, keys, values, text and name), and the form in which answers are stored. */

import { isFields } from '../../../shared/base/fields.ts';
import { isBlank } from '../../../shared/base/text.ts';
import { type Block, wellFormed } from '../block.ts';
import type { RuleName, Violation } from './validate.ts';

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

type Test = (value: unknown) => boolean;

/** The keys of one kind of object, each with a test of its value. The API refuses other keys. */
interface Shape {
  readonly requiredKeys: readonly string[];
  readonly tests: ReadonlyMap<string, Test>;
}

const isText: Test = (value) => typeof value === 'string';
const isEmptyList: Test = (value) => value === null || (Array.isArray(value) && value.length === 0);
const isAnything: Test = () => true;

/** The tests of keys whose values are checked. */
const TESTS = new Map<string, Test>([
  ...'type text thinking signature data media_type url'.split(' ').map((key): [string, Test] => [key, isText]),
  ['is_error', (value) => typeof value === 'boolean'],
  ['cache_control', (value) => value === null || isBreakpoint(value)],
  ['ttl', (value) => value === '5m' || value === '1h'],
]);

/** Builds a shape from its keys, with `?` after optional ones, and from tests for this shape only. */
function shape(keys: string, tests: Readonly<Record<string, Test>> = {}): Shape {
  const all = keys.split(' ').map((key) => key.replace('?', ''));
  return {
    requiredKeys: keys.split(' ').filter((key) => !key.endsWith('?')),
    tests: new Map(all.map((key) => [key, tests[key] ?? TESTS.get(key) ?? isAnything])),
  };
}

/** Whether an object has all required keys of its shape, no unknown keys and no bad values. `undefined` counts as absent. */
function hasShape(object: Fields, { requiredKeys, tests }: Shape): boolean {
  for (const key in object) if (object[key] !== undefined && tests.get(key)?.(object[key]) !== true) return false;
  return requiredKeys.every((key) => object[key] !== undefined);
}

const BREAKPOINT = shape('type ttl?', { type: (value) => value === 'ephemeral' });

/** Whether a value is a cache breakpoint. */
export function isBreakpoint(value: unknown): boolean {
  return isFields(value) && hasShape(value, BREAKPOINT);
}

/** Whether a value is an object that states its type. */
function isBlock(value: unknown): value is Block {
  return isFields(value) && typeof value.type === 'string';
}

/** Whether a value may be the name of a tool or the id of a call. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value);
}

/** Whether a block is a picture or a document. */
export function isMedia({ type }: Block): boolean {
  return type === 'image' || type === 'document';
}

/** Whether a block is the model's thinking, readable or not. */
export function isThinking({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Shapes by the type of the object. */
type Shapes = ReadonlyMap<unknown, Shape>;

const SOURCE_SHAPES: Shapes = new Map([
  ['base64', shape('type data media_type')],
  ['url', shape('type url')],
  ['text', shape('type data media_type')],
]);

function isSource(value: unknown): boolean {
  const shape = isBlock(value) ? SOURCE_SHAPES.get(value.type) : undefined;
  return shape !== undefined && hasShape(value as Block, shape);
}

/** Text of the user's side, which has no citations. */
const TEXT = shape('type text citations? cache_control?', { citations: isEmptyList });

/** The system prompt may consist only of text. */
export const SYSTEM_SHAPES: Shapes = new Map([['text', TEXT]]);

const RESULT_SHAPES: Shapes = new Map([
  ['text', TEXT],
  ['image', shape('type source cache_control?', { source: isSource })],
  ['document', shape('type source citations? context? title? cache_control?', { source: isSource })],
]);

const USER_SHAPES: Shapes = new Map([
  ...RESULT_SHAPES,
  [
    'tool_result',
    shape('type tool_use_id content? is_error? cache_control?', {
      content: (value) => typeof value === 'string' || Array.isArray(value),
    }),
  ],
]);

const SERVER_RESULT = shape('type tool_use_id content caller? cache_control?');
/** The blocks of an answer with the keys that later requests may contain. The API itself returns some blocks with more keys. */
const MODEL_SHAPES: Shapes = new Map([
  ['text', shape('type text citations? cache_control?')],
  ['thinking', shape('type thinking signature')],
  ['redacted_thinking', shape('type data')],
  ['tool_use', shape('type id? name? input? caller? toolset_name? cache_control?')],
  ['server_tool_use', shape('type id name input caller? cache_control?')],
  ['web_search_tool_result', SERVER_RESULT],
  ['web_fetch_tool_result', SERVER_RESULT],
]);

/** The citations of an answer, by their kind of location. */
const CITATION_SHAPES: Shapes = new Map([
  ['char_location', shape('type cited_text document_index document_title end_char_index start_char_index')],
  ['page_location', shape('type cited_text document_index document_title end_page_number start_page_number')],
  ['web_search_result_location', shape('type cited_text encrypted_index title url')],
]);

const ONLY_MODEL: ReadonlySet<string> = new Set(['tool_use', 'server_tool_use', 'thinking', 'redacted_thinking']);
const ONLY_USER: ReadonlySet<string> = new Set(['tool_result', 'image', 'document']);

/** Checks `block-side`, and the rules for blocks of this role. */
export function* blockViolations(block: unknown, path: string, role: unknown): Generator<Violation> {
  if (!isBlock(block)) yield { rule: 'known-shape', path };
  else if ((role === 'user' ? ONLY_MODEL : ONLY_USER).has(block.type)) yield { rule: 'block-side', path };
  else if (role === 'user') yield* userBlockViolations(block, path, USER_SHAPES);
  else {
    const rule = modelBlockFault(block);
    if (rule !== undefined) yield { rule, path };
  }
}

/** Checks a block of a user message, or a block inside a tool result. */
export function* userBlockViolations(block: unknown, path: string, shapes: Shapes): Generator<Violation> {
  const shape = isBlock(block) ? shapes.get(block.type) : undefined;
  if (!isBlock(block) || shape === undefined || !hasShape(block, shape)) return yield { rule: 'known-shape', path };
  if (block.type === 'text' && isBlank(String(block.text))) yield { rule: 'text-not-blank', path };
  if (block.type === 'tool_result') yield* resultViolations(block, path);
}

function* resultViolations({ content, is_error }: Block, path: string): Generator<Violation> {
  if (typeof content === 'string' && isBlank(content)) yield { rule: 'text-not-blank', path };
  if (!Array.isArray(content)) return;
  for (const [at, nested] of content.entries()) {
    const nestedPath = `${path}.content.${at}`;
    yield* userBlockViolations(nested, nestedPath, RESULT_SHAPES);
    if (is_error === true && nested.type !== 'text') yield { rule: 'error-in-words', path: nestedPath };
  }
}

/** The rule that a block of an answer breaks, if any. A block of an unknown type may have any keys. */
function modelBlockFault(block: Block): RuleName | undefined {
  if (isThinking(block)) return thinkingFault(block);
  const { type, text, name, input, citations, cache_control } = block;
  const shape = MODEL_SHAPES.get(type);
  const hasKnownKeys = shape === undefined || hasShape(block, shape);
  if (!hasKnownKeys || !(cache_control === undefined || cache_control === null || isBreakpoint(cache_control)))
    return 'known-shape';
  if (type === 'text' && isBlank(String(text))) return 'text-not-blank';
  if (type === 'tool_use' && !(isName(name) && isFields(input))) return 'name-legal';
  return Array.isArray(citations) && !citations.every(isAccepted) ? 'citations-given' : undefined;
}

/** Whether the API accepts a citation in a later request. */
function isAccepted(citation: unknown): boolean {
  const shape = isBlock(citation) ? CITATION_SHAPES.get(citation.type) : undefined;
  return shape === undefined || hasShape(citation as Block, shape);
}

/** The rule that a block of thinking breaks, if any. After an aborted stream, thinking has no signature. */
function thinkingFault(block: Block): RuleName | undefined {
  const shape = MODEL_SHAPES.get(block.type);
  if (shape === undefined || !hasShape(block, shape)) return 'known-shape';
  const isSealed =
    block.type === 'thinking' ? /^[A-Za-z0-9+/_-]{16,}={0,2}$/.test(String(block.signature)) : block.data !== '';
  return isSealed ? undefined : 'thinking-sealed';
}

/** Checks `name-legal` and `known-shape` for the tools of a request. */
export function* toolViolations(tools: readonly unknown[]): Generator<Violation> {
  const names = new Set<unknown>();
  for (const [at, tool] of tools.entries()) {
    const path = `tools.${at}`;
    if (!isFields(tool)) return yield { rule: 'known-shape', path };
    if (!isName(tool.name) || names.has(tool.name)) yield { rule: 'name-legal', path };
    names.add(tool.name);
  }
}

const NAME_CHARS_MAX = 56;

/**
 * The blocks of an answer in the form that a later request may contain, at the same indexes. `undefined` replaces a block
 * that must be omitted: blank text, a call with the id of an earlier one, and thinking that is invalid or ends the answer. If
 * thinking follows an omitted block, or is itself omitted before other blocks, all thinking is omitted. A valid block stays
 * the same object. Pure; accepts any blocks.
 */
export function storableBlocks(content: readonly Block[]): readonly (Block | undefined)[] {
  const ids = new Set<unknown>();
  const blocks = content.map((block) => {
    const isCall = block.type === 'tool_use' || block.type === 'server_tool_use';
    const isCopy = isCall && ids.has(block.id);
    if (isCall) ids.add(block.id);
    return isCopy ? undefined : storableBlock(block);
  });
  const end = blocks.findLastIndex((block) => block !== undefined && !isThinking(block));
  const firstOmitted = blocks.indexOf(undefined);
  const lastThought = content.findLastIndex((block, at) => at < end && isThinking(block));
  const isBroken = firstOmitted !== -1 && firstOmitted <= lastThought;
  return blocks.map((block, at) => (block && isThinking(block) && (isBroken || at > end) ? undefined : block));
}

/** The blocks of an answer for the log: `storableBlocks` without gaps. */
export function storable(content: readonly Block[]): readonly Block[] {
  return storableBlocks(content).filter((block) => block !== undefined);
}

/** The id of a call; a changed id if the API would not accept the original, or if an earlier call has the same id. */
export function uniqueCallId(id: unknown, usedIds: ReadonlySet<unknown>): string {
  let result = legalName(id);
  for (let n = 2; usedIds.has(result); n++) result = `${legalName(id).slice(0, NAME_CHARS_MAX)}_${n}`;
  return result;
}

function legalName(name: unknown): string {
  if (isName(name)) return name;
  const legal = String(name ?? '').replaceAll(/[^\w-]/g, '_');
  return legal.slice(0, NAME_CHARS_MAX) || 'unnamed';
}

function storableBlock(block: Block): Block | undefined {
  const { type, text, name, input, citations } = block;
  if (isThinking(block)) return thinkingFault(block) === undefined && wellFormed(block) === block ? block : undefined;
  if (type === 'text' && (typeof text !== 'string' || isBlank(text))) return undefined;
  const result = wellFormed(withKnownKeys(block, MODEL_SHAPES));
  if (type === 'tool_use' && !(isName(name) && isFields(input)))
    return { ...result, name: legalName(name), input: isFields(input) ? input : { value: input } };
  if (!Array.isArray(citations) || citations.every(isAccepted)) return result;
  return { ...result, citations: citations.map((each) => withKnownKeys(each, CITATION_SHAPES)).filter(isAccepted) };
}

/** Removes the keys of an object that the shape of its type does not have. */
function withKnownKeys<Kind>(value: Kind, shapes: Shapes): Kind {
  const shape = isBlock(value) ? shapes.get(value.type) : undefined;
  if (shape === undefined || hasShape(value as Fields, shape)) return value;
  return Object.fromEntries(Object.entries(value as Fields).filter(([key]) => shape.tests.has(key))) as Kind;
}
