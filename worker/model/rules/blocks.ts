import { isFields } from '../../../shared/base/fields.ts';
import {
  type Block,
  hasLoneSurrogate,
  isBlank,
  isServerResult,
  isWellFormed,
  jsonOf,
  wellFormedValue,
} from '../block.ts';
import { type Draft, type Fix, NOTHING_LEFT, type Part } from './draft.ts';
import { thinkingFault } from './frame.ts';
import { placeholder } from './media.ts';
import type { Repair, RequestFacts } from './repair.ts';
import {
  CITATION_SHAPES,
  type Fields,
  hasNeeded,
  isBlock,
  isBreakpoint,
  isMedia,
  isThinking,
  MODEL_SHAPES,
  RESULT_SHAPES,
  type Shapes,
  SOURCE_SHAPES,
  SYSTEM_SHAPES,
  TOOL_SHAPE,
  trimmed,
  USER_SHAPES,
  unmarked,
} from './shapes.ts';

const UNREADABLE = 'it cannot be read';

/** `unicode-whole`. Sealed thinking cannot be changed, so it goes. */
export const fixUnicode: Fix = (draft) => {
  const { json: whole, top, isLog } = draft;
  if (!isLog && whole !== undefined && !hasLoneSurrogate(whole)) return;
  for (const [key, value] of Object.entries(top)) {
    const json = jsonOf(value) ?? '';
    if (!hasLoneSurrogate(json)) continue;
    top[key] = wellFormedValue(json);
    draft.topChanged = true;
    draft.note('unicode-whole', key.toWellFormed(), 'well_formed');
  }
  for (const part of draft.liveParts()) {
    const json = isWellFormed(part.block) ? '' : (jsonOf(part.block) ?? '');
    if (!hasLoneSurrogate(json)) continue;
    if (isThinking(part.block)) draft.takeOut(part, 'unicode-whole', 'dropped_thinking');
    else draft.rewrite(part, wellFormedValue(json) as Block, 'unicode-whole', 'well_formed');
  }
};

/**
 * Blocks that one side alone writes, and what is said when another one has to go; media leave a line in their place.
 */
const SIDED: ReadonlyMap<string, { side: 'user' | 'assistant'; dropped?: Repair['what'] }> = new Map([
  ['tool_use', { side: 'assistant', dropped: 'dropped_call' }],
  ['server_tool_use', { side: 'assistant', dropped: 'dropped_block' }],
  ['thinking', { side: 'assistant', dropped: 'dropped_thinking' }],
  ['redacted_thinking', { side: 'assistant', dropped: 'dropped_thinking' }],
  ['tool_result', { side: 'user', dropped: 'dropped_result' }],
  ['search_result', { side: 'user', dropped: 'dropped_block' }],
  ['image', { side: 'user' }],
  ['document', { side: 'user' }],
]);

/**
 * `text-not-blank`, `block-side`, `name-legal`, `known-shape`, and `thinking-sealed` as far as a block shows it: every
 * block of the messages in a form that the API takes, or out.
 */
export const fixBlocks: Fix = (draft) => {
  for (const { parts, role } of draft.turns) for (const part of parts) if (!part.out) fixPart(draft, part, role);
};

function fixPart(draft: Draft, part: Part, role: 'user' | 'assistant'): void {
  const { block } = part;
  const sided = SIDED.get(block.type);
  const side = sided?.side ?? role;
  if (side === 'assistant') fixModelPart(draft, part);
  else if (!isServerResult(block)) fixUserPart(draft, part);
  if (side === role) return;
  if (sided?.dropped) draft.takeOut(part, 'block-side', sided.dropped);
  else draft.rewrite(part, placeholder(block, 'only a user can send it'), 'block-side', 'placeholder');
}

function fixUserPart(draft: Draft, part: Part): void {
  const fixed = fixOurs(draft, part.block, USER_SHAPES, part.path);
  part.changed ||= fixed !== part.block;
  part.out = fixed === undefined;
  part.block = fixed ?? part.block;
}

/** A block that we wrote, as the API takes it; undefined when nothing of it can be sent. */
export function fixOurs(draft: Draft, block: unknown, shapes: Shapes, path: string): Block | undefined {
  if (!isBlock(block)) return draft.drop(path);
  const shape = shapes.get(block.type);
  if (shape === undefined) return standIn(draft, block, 'a block of this kind cannot be here', path);
  if (!hasNeeded(block, shape))
    return isMedia(block) ? standIn(draft, block, UNREADABLE, path) : draft.drop(path, SIDED.get(block.type)?.dropped);
  const known = trimmed(block, shape);
  if (known !== block) noteTrimmed(draft, block, known, path);
  if (isMedia(known)) return fixSource(draft, known, path) ?? standIn(draft, block, UNREADABLE, path);
  if (known.type === 'tool_result') return fixResult(draft, known, block.content, path);
  return known.type === 'text' && isBlankText(draft, known, path) ? undefined : known;
}

/** Notes a block that cannot be sent, and names it instead. */
function standIn(draft: Draft, block: Block, why: string, path: string): Block {
  draft.note('known-shape', path, 'placeholder');
  return placeholder(block, why);
}

function noteTrimmed(draft: Draft, block: Block, known: Block, path: string): void {
  const lost = Object.keys(block).filter((key) => !Object.hasOwn(known, key));
  const isMarker = lost.every((key) => key === 'cache_control');
  draft.note('known-shape', path, isMarker ? 'dropped_breakpoint' : 'well_formed');
}

/** Notes a blank text, and the breakpoint that goes with it. */
function isBlankText(draft: Draft, { cache_control, text }: Block, path: string): boolean {
  if (typeof text === 'string' && !isBlank(text)) return false;
  draft.note(typeof text === 'string' ? 'text-not-blank' : 'known-shape', path, 'dropped_block');
  if (isBreakpoint(cache_control)) draft.note('breakpoints-few', path, 'dropped_breakpoint');
  return true;
}

function fixSource(draft: Draft, block: Block, path: string): Block | undefined {
  const { source } = block;
  if (draft.isLog || !isFields(source)) return block;
  const shape = SOURCE_SHAPES.get(source.type);
  if (shape === undefined || !hasNeeded(source, shape)) return undefined;
  const known = trimmed(source, shape);
  if (known === source) return block;
  draft.note('known-shape', path, 'well_formed');
  return { ...block, source: known };
}

/** The result of a tool. An object is written down, so that nothing of it is lost. */
function fixResult(draft: Draft, block: Block, returned: unknown, path: string): Block {
  const given = isFields(returned) ? jsonOf(returned) : block.content;
  const fixNested = (nested: unknown, place: string) => fixOurs(draft, nested, RESULT_SHAPES, place);
  const content = Array.isArray(given) ? fixEach(given, `${path}.content`, fixNested) : given;
  if (typeof content === 'string' && isBlank(content)) {
    draft.note('text-not-blank', path, 'placeholder');
    return { ...block, content: NOTHING_LEFT };
  }
  const said = block.is_error === true && Array.isArray(content) ? inWords(draft, content, path) : content;
  if (said === block.content) return block;
  return { ...block, content: Array.isArray(said) && said.length === 0 ? NOTHING_LEFT : said };
}

/** The result of a failed call in words alone: a picture is named. */
function inWords(draft: Draft, content: readonly unknown[], path: string) {
  return fixEach(content, `${path}.content`, (nested, place) => {
    if (!isBlock(nested) || nested.type === 'text') return nested;
    draft.note('error-in-words', place, 'placeholder');
    return placeholder(nested, 'the call failed, and an error is words alone');
  });
}

/** The items of a list, each of them fixed or left out: the same list where that changes none. */
export function fixEach(items: readonly unknown[], path: string, fix: (item: unknown, path: string) => unknown) {
  const fixed = items.flatMap((item, at) => fix(item, `${path}.${at}`) ?? []);
  return fixed.length === items.length && fixed.every((item, at) => item === items[at]) ? items : fixed;
}

/** A block of the model is kept as it came, unknown types included, unless the API would refuse it. */
function fixModelPart(draft: Draft, part: Part): void {
  fixOwnKeys(draft, part);
  const { block, path } = part;
  const isThought = isThinking(block);
  const fault = isThought ? thinkingFault(block) : undefined;
  if (fault !== undefined) draft.takeOut(part, fault, 'dropped_thinking');
  else if (block.type === 'text' && isBlankText(draft, block, path)) part.out = part.changed = true;
  else if (block.type === 'tool_use') fixCall(draft, part);
  const { cache_control } = block;
  const isRight = !isThought && (cache_control === null || isBreakpoint(cache_control));
  if (part.out || cache_control === undefined || isRight) return;
  // A marker is no part of the text that thinking is bound to, so this is no change to what comes after it.
  part.block = unmarked(part.block) as Block;
  draft.note('known-shape', path, 'dropped_breakpoint');
}

/**
 * A block of an unknown type stays as it is. A key that the API writes and does not take back is no part of the text that thinking is bound to, so this is no change
 * to what comes after it. A citation that has to go is one.
 */
function fixOwnKeys(draft: Draft, part: Part): void {
  const { block, path } = part;
  const shape = MODEL_SHAPES.get(block.type);
  const known = shape === undefined ? block : trimmed(block, shape);
  if (known !== block) draft.note('known-shape', path, 'well_formed');
  const { citations } = known;
  part.block = known;
  if (!Array.isArray(citations)) return;
  const given = fixEach(citations, path, takenCitation);
  if (given === citations) return;
  draft.note('citations-given', path, 'well_formed');
  part.changed ||= given.length < citations.length;
  part.block = { ...known, citations: given };
}

/** A citation as the API takes it; nothing where it lacks a part. */
function takenCitation(citation: unknown): unknown {
  const shape = isBlock(citation) ? CITATION_SHAPES.get(citation.type) : undefined;
  if (!isBlock(citation) || shape === undefined) return citation;
  return hasNeeded(citation, shape) ? trimmed(citation, shape) : undefined;
}

/** The id is the business of the pairs. An input that is no object is wrapped, so that nothing of it is lost. */
function fixCall(draft: Draft, part: Part): void {
  const { name, input } = part.block;
  const valid = draft.toolNames.nameOf(name);
  if (valid !== name) draft.rewrite(part, { ...part.block, name: valid }, 'name-legal', 'well_formed');
  if (isFields(input)) return;
  const wrapped = input === undefined || input === null ? {} : { value: input };
  draft.rewrite(part, { ...part.block, input: wrapped }, 'name-legal', 'well_formed');
}

const OUTPUT_TOKENS_DEFAULT = 4096;

/** `output-tokens`; and `known-shape`, `text-not-blank` and `name-legal` in system prompt and tools. */
export const fixTop: Fix = (draft, facts) => {
  fixMaxTokens(draft, facts);
  if (typeof draft.top.system !== 'string')
    fixList(draft, 'system', (block, path) => fixOurs(draft, block, SYSTEM_SHAPES, path));
  const names = new Set<unknown>();
  const { tools, tool_choice } = draft.top;
  fixList(draft, 'tools', (tool, path) => (isFields(tool) ? fixTool(draft, tool, names, path) : draft.drop(path)));
  if (draft.top.tools === tools || !isFields(tool_choice) || tool_choice.name === undefined) return;
  const name = draft.toolNames.nameOf(tool_choice.name);
  if (name !== tool_choice.name && names.has(name)) draft.top.tool_choice = { ...tool_choice, name };
};

/** A limit of less than one token is no wish that could be met, so the usual one stands. */
function fixMaxTokens(draft: Draft, { maxOutputTokens = Number.POSITIVE_INFINITY }: RequestFacts): void {
  const asked = draft.top.max_tokens;
  const isUsable = typeof asked === 'number' && Number.isFinite(asked) && asked >= 1;
  const given = Math.max(1, Math.min(isUsable ? Math.floor(asked) : OUTPUT_TOKENS_DEFAULT, maxOutputTokens));
  if (given === asked) return;
  draft.top.max_tokens = given;
  draft.note('output-tokens', 'max_tokens', 'lowered_output');
}

/** A list of which nothing is left is not sent. */
function fixList(draft: Draft, key: string, fix: (item: unknown, path: string) => unknown): void {
  const items = draft.top[key];
  if (items === undefined) return;
  if (!Array.isArray(items)) draft.drop(key);
  const fixed = Array.isArray(items) ? fixEach(items, key, fix) : [];
  if (fixed === items) return;
  draft.topChanged = true;
  if (fixed.length > 0) draft.top[key] = fixed;
  else delete draft.top[key];
}

/** A tool has one name, here and in its calls. */
function fixTool(draft: Draft, tool: Fields, names: Set<unknown>, path: string): Fields | undefined {
  const isOwn = [undefined, null, 'custom'].includes(tool.type as never);
  const name = isOwn || tool.name !== undefined ? draft.toolNames.nameOf(tool.name) : undefined;
  const isSecond = name !== undefined && names.has(name);
  names.add(name);
  if (name !== tool.name || isSecond) draft.note('name-legal', path, isSecond ? 'dropped_block' : 'well_formed');
  if (isSecond) return undefined;
  const named = name === tool.name ? tool : { ...tool, name };
  if (!isOwn) return named;
  const schema = isFields(named.input_schema) ? named.input_schema : {};
  const known = trimmed(named, TOOL_SHAPE);
  if (known === named && hasNeeded(known, TOOL_SHAPE) && schema.type === 'object') return named;
  draft.note('known-shape', path, 'well_formed');
  return schema.type === 'object' ? known : { ...known, input_schema: { ...schema, type: 'object' } };
}
