/** What is wrong with a single block of the messages. */
import { type Block, isBlank } from '../block.ts';
import { hasLoneSurrogate, isWellFormed, jsonOf, wellFormedValue } from '../json-text.ts';
import { type Draft, type Fix, liveParts, NOTHING_LEFT, type Part, textBlock } from './draft.ts';
import { removedText } from './media.ts';
import type { Repair } from './repair.ts';
import {
  hasNeeded,
  isBlock,
  isBreakpoint,
  isFields,
  isMedia,
  isServerResult,
  isThinking,
  MODEL_ONLY,
  RESULT_SHAPES,
  type Shape,
  SOURCE_SHAPES,
  sameOr,
  thinkingFault,
  trimmed,
  USER_ONLY,
  USER_SHAPES,
} from './shapes.ts';

/** `unicode-whole`. Sealed thinking cannot be changed, so it goes. */
export const fixUnicode: Fix = (draft) => {
  const { json: whole, top, isLog } = draft;
  if (!isLog && whole !== undefined && !hasLoneSurrogate(whole)) return;
  if (whole === undefined && jsonOf({ ...top, messages: [] }) === undefined) draft.note('unicode-whole', '');
  for (const [key, value] of Object.entries(top)) {
    const json = key === 'messages' ? '' : (jsonOf(value) ?? '');
    if (!hasLoneSurrogate(json)) continue;
    top[key] = wellFormedValue(json);
    draft.topChanged = true;
    draft.note('unicode-whole', key.toWellFormed(), 'well_formed');
  }
  for (const part of draft.turns.flatMap(liveParts)) {
    if (isLog && isWellFormed(part.block)) continue;
    const json = jsonOf(part.block) ?? '';
    if (!hasLoneSurrogate(json)) continue;
    if (isThinking(part.block)) draft.takeOut(part, 'unicode-whole', 'dropped_thinking');
    else draft.rewrite(part, wellFormedValue(json) as Block, 'unicode-whole', 'well_formed');
  }
};

const DROPPED: ReadonlyMap<string, Repair['what']> = new Map([
  ['tool_use', 'dropped_call'],
  ['server_tool_use', 'dropped_block'],
  ['tool_result', 'dropped_result'],
  ['search_result', 'dropped_block'],
]);

/**
 * `text-not-blank`, `block-side`, `name-legal`, `known-shape`, and `thinking-sealed` as far as a block shows it: every
 * block of the messages in a form that the API takes, or out.
 */
export const fixBlocks: Fix = (draft) => {
  for (const { parts, role } of draft.turns)
    for (const part of parts.filter(({ out }) => !out)) {
      const { block } = part;
      const { type } = block;
      const side = MODEL_ONLY.has(type) ? 'assistant' : USER_ONLY.has(type) ? 'user' : role;
      if (side === 'assistant') fixModelPart(draft, part);
      else fixUserPart(draft, part);
      if (side !== role) removeFromSide(draft, part, block);
    }
};

function removeFromSide(draft: Draft, part: Part, block: Block): void {
  const what = isThinking(block) ? 'dropped_thinking' : DROPPED.get(block.type);
  if (what !== undefined) draft.takeOut(part, 'block-side', what);
  else draft.rewrite(part, textBlock(removedText(block, 'only a user can send it')), 'block-side', 'placeholder');
}

function fixUserPart(draft: Draft, part: Part): void {
  const { block, path } = part;
  if (isServerResult(block)) return;
  const fixed = fixOurs(draft, block, USER_SHAPES, path);
  part.changed ||= fixed !== block;
  part.out = fixed === undefined;
  part.block = fixed ?? block;
}

/** A block that we wrote, as the API takes it; undefined when nothing of it can be sent. */
export function fixOurs(
  draft: Draft,
  block: Block,
  shapes: ReadonlyMap<string, Shape>,
  path: string,
): Block | undefined {
  const shape = shapes.get(block.type);
  const standIn = (why: string): Block => {
    draft.note('known-shape', path, 'placeholder');
    return textBlock(removedText(block, why));
  };
  if (shape === undefined) return standIn('a block of this kind cannot be here');
  if (!hasNeeded(block, shape)) {
    if (isMedia(block)) return standIn('it cannot be read');
    draft.note('known-shape', path, block.type === 'tool_result' ? 'dropped_result' : 'dropped_block');
    return undefined;
  }
  const known = trimmed(block, shape);
  if (known !== block) {
    const lost = Object.keys(block).filter((key) => !Object.hasOwn(known, key));
    const isMarker = lost.every((key) => key === 'cache_control');
    draft.note('known-shape', path, isMarker ? 'dropped_breakpoint' : 'well_formed');
  }
  if (isMedia(known)) return fixSource(draft, known, path) ?? standIn('it cannot be read');
  if (known.type === 'tool_result') return fixResult(draft, known, block.content, path);
  return known.type === 'text' && isBlankText(draft, known, path) ? undefined : known;
}

/** Notes a blank text, and the breakpoint that goes with it. */
function isBlankText(draft: Draft, { cache_control, text }: Block, path: string): boolean {
  if (typeof text === 'string' && !isBlank(text)) return false;
  draft.note(typeof text === 'string' ? 'text-not-blank' : 'known-shape', path, 'dropped_block');
  if (isBreakpoint(cache_control)) draft.note('breakpoints-few', path, 'dropped_breakpoint');
  return true;
}

function fixSource(draft: Draft, block: Block, path: string): Block | undefined {
  if (draft.isLog) return block;
  if (!isFields(block.source)) return undefined;
  const shape = SOURCE_SHAPES.get(block.source.type);
  if (shape === undefined || !hasNeeded(block.source, shape)) return undefined;
  const source = trimmed(block.source, shape);
  if (source === block.source) return block;
  draft.note('known-shape', path, 'well_formed');
  return { ...block, source };
}

/** What a tool returned as an object is written down, so that nothing of it is lost. */
function fixResult(draft: Draft, block: Block, returned: unknown, path: string): Block {
  const content = isFields(returned) ? jsonOf(returned) : block.content;
  if (typeof content === 'string') {
    if (!isBlank(content)) return content === block.content ? block : { ...block, content };
    draft.note('text-not-blank', path, 'placeholder');
    return { ...block, content: NOTHING_LEFT };
  }
  if (!Array.isArray(content)) return block;
  const fixed = content.flatMap((nested: unknown, at) => {
    const place = `${path}.content.${at}`;
    if (isBlock(nested)) return fixOurs(draft, nested, RESULT_SHAPES, place) ?? [];
    draft.note('known-shape', place, 'dropped_block');
    return [];
  });
  if (sameOr(content, fixed) === content) return block;
  return { ...block, content: fixed.length > 0 ? fixed : NOTHING_LEFT };
}

/** What the model wrote is kept as it came, unknown types and keys included, unless the API would refuse it. */
function fixModelPart(draft: Draft, part: Part): void {
  const { block, path } = part;
  const { cache_control, ...unmarked } = block;
  const fault = isThinking(block) ? thinkingFault(block) : undefined;
  if (fault !== undefined) draft.takeOut(part, fault, 'dropped_thinking');
  else if (block.type === 'text' && isBlankText(draft, block, path)) {
    part.out = true;
    part.changed = true;
  } else if (block.type === 'tool_use') fixCall(draft, part);
  const isWrong = isThinking(block) || !(cache_control === null || isBreakpoint(cache_control));
  if (part.out || part.block.cache_control === undefined || !isWrong) return;
  // A marker is no part of the text that thinking is bound to, so this is no change to what comes after it.
  part.block = unmarked as Block;
  draft.note('known-shape', path, 'dropped_breakpoint');
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
