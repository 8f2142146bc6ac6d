/** Mends what is wrong with single blocks: rules 6, 12, 13, 16, 17 and 22 to 25. */

import type { Block } from '../block.ts';
import { isBlank } from '../block.ts';
import { hasLoneSurrogate, jsonOf, wellFormedValue } from '../json-text.ts';
import { isMedia, judgeMedia, leftOut } from './contract-media.ts';
import {
  hasNeeded,
  isBlock,
  isBreakpoint,
  isFields,
  isServerResult,
  isThinking,
  MODEL_ONLY,
  RESULT_SHAPES,
  type Shape,
  SOURCE_SHAPES,
  thinkingFault,
  trimmed,
  USER_SHAPES,
} from './contract-shapes.ts';
import type { Renaming } from './renaming.ts';
import { type Draft, liveParts, type Mend, NOTHING_LEFT, type Part, reviseBlocks, textBlock } from './repair-draft.ts';

/** Rule 17. Sealed thinking cannot be changed, so it goes. */
export const mendUnicode: Mend = (draft) => {
  if (draft.isWellFormed) return;
  for (const [key, value] of Object.entries(draft.top)) {
    const json = key === 'messages' ? '' : (jsonOf(value) ?? '');
    if (!hasLoneSurrogate(json)) continue;
    draft.top[key] = wellFormedValue(json);
    draft.topChanged = true;
    draft.note(17, key, 'well_formed');
  }
  for (const part of draft.turns.flatMap(liveParts)) {
    const json = jsonOf(part.block) ?? '';
    if (!hasLoneSurrogate(json)) continue;
    if (isThinking(part.block)) draft.takeOut(part, 17, 'dropped_thinking');
    else draft.rewrite(part, wellFormedValue(json) as Block, 17, 'well_formed');
  }
};

/** Every block of the messages in a shape that the API takes, or out. */
export function mendBlocks(draft: Draft, names: Renaming): void {
  for (const turn of draft.turns) {
    for (const part of liveParts(turn)) {
      if (turn.role === 'user') mendUserPart(draft, part);
      else mendModelPart(draft, part, names);
    }
  }
}

function mendUserPart(draft: Draft, part: Part): void {
  const { block, path } = part;
  if (MODEL_ONLY.has(block.type)) {
    if (isThinking(block)) draft.takeOut(part, 12, 'dropped_thinking');
    else draft.takeOut(part, 12, block.type === 'tool_use' ? 'dropped_call' : 'dropped_block');
    return;
  }
  if (isServerResult(block)) return;
  const mended = mendOurs(draft, block, USER_SHAPES, path);
  if (mended === block) return;
  part.changed = true;
  part.out = mended === undefined;
  if (mended !== undefined) part.block = mended;
}

/** A block that we wrote, as the API takes it; undefined when nothing of it can be sent. */
export function mendOurs(
  draft: Draft,
  block: Block,
  shapes: ReadonlyMap<string, Shape>,
  path: string,
): Block | undefined {
  const shape = shapes.get(block.type);
  const standIn = (why: string): Block => {
    draft.note(25, path, 'placeholder');
    return textBlock(leftOut(block, why));
  };
  if (shape === undefined) return standIn('a block of this kind cannot be here');
  if (!hasNeeded(block, shape)) {
    if (isMedia(block)) return standIn('it cannot be read');
    draft.note(25, path, block.type === 'tool_result' ? 'dropped_result' : 'dropped_block');
    return undefined;
  }
  const known = trimmed(block, shape);
  if (known !== block) {
    const lost = Object.keys(block).filter((key) => !Object.hasOwn(known, key));
    draft.note(25, path, lost.every((key) => key === 'cache_control') ? 'dropped_breakpoint' : 'well_formed');
  }
  if (isMedia(known)) return mendSource(draft, known, path) ?? standIn('it cannot be read');
  if (known.type === 'tool_result') return mendResult(draft, known, path);
  if (known.type !== 'text' || !isBlank(String(known.text))) return known;
  draft.note(6, path, 'dropped_block');
  return undefined;
}

function mendSource(draft: Draft, block: Block, path: string): Block | undefined {
  if (!isFields(block.source)) return undefined;
  const shape = SOURCE_SHAPES.get(block.source.type);
  if (shape === undefined || !hasNeeded(block.source, shape)) return undefined;
  const source = trimmed(block.source, shape);
  if (source === block.source) return block;
  draft.note(25, path, 'well_formed');
  return { ...block, source };
}

function mendResult(draft: Draft, block: Block, path: string): Block {
  const { content } = block;
  if (typeof content === 'string' && isBlank(content)) {
    draft.note(6, path, 'placeholder');
    return { ...block, content: NOTHING_LEFT };
  }
  if (!Array.isArray(content)) return block;
  const mended = content.flatMap((nested: unknown, at) => {
    const place = `${path}.content.${at}`;
    if (isBlock(nested)) return mendOurs(draft, nested, RESULT_SHAPES, place) ?? [];
    draft.note(25, place, 'dropped_block');
    return [];
  });
  if (mended.length === content.length && mended.every((nested, at) => nested === content[at])) return block;
  return { ...block, content: mended.length > 0 ? mended : NOTHING_LEFT };
}

/** What the model wrote is kept as it came, unless the API would refuse it. */
function mendModelPart(draft: Draft, part: Part, names: Renaming): void {
  const { block } = part;
  const { cache_control, ...unmarked } = block;
  const fault = isThinking(block) ? thinkingFault(block) : undefined;
  if (fault !== undefined) draft.takeOut(part, fault, 'dropped_thinking');
  else if (block.type === 'tool_result') draft.takeOut(part, 12, 'dropped_result');
  else if (block.type === 'search_result') draft.takeOut(part, 12, 'dropped_block');
  else if (isMedia(block)) draft.rewrite(part, textBlock(leftOut(block, 'only a user can send it')), 12, 'placeholder');
  else if (block.type === 'text' && (typeof block.text !== 'string' || isBlank(block.text)))
    draft.takeOut(part, typeof block.text === 'string' ? 6 : 25, 'dropped_block');
  else if (block.type === 'tool_use') mendCall(draft, part, names);
  const isWrong = isThinking(block) || !(cache_control === null || isBreakpoint(cache_control));
  if (part.out || part.block.cache_control === undefined || !isWrong) return;
  // A marker is no part of the text that thinking is bound to, so this is no change to what comes after it.
  part.block = unmarked as Block;
  draft.note(25, part.path, 'dropped_breakpoint');
}

/** The id is the business of the pairs. An input that is no object is wrapped, so that nothing of it is lost. */
function mendCall(draft: Draft, part: Part, names: Renaming): void {
  const { name, input } = part.block;
  const valid = names.nameOf(name);
  if (valid !== name) draft.rewrite(part, { ...part.block, name: valid }, 13, 'well_formed');
  if (isFields(input)) return;
  const wrapped = input === undefined || input === null ? {} : { value: input };
  draft.rewrite(part, { ...part.block, input: wrapped }, 13, 'well_formed');
}

/** Rules 22 to 24: what cannot be sent is named by a line in its place. */
export const mendMedia: Mend = (draft, facts) => {
  const media: Block[] = [];
  reviseBlocks(draft, (block) => {
    if (isMedia(block)) media.push(block);
    return block;
  });
  const faults = judgeMedia(media, facts);
  let at = 0;
  reviseBlocks(draft, (block, path) => {
    if (!isMedia(block)) return block;
    const fault = faults[at];
    at += 1;
    if (fault === undefined) return block;
    draft.note(fault.rule, path, 'placeholder');
    return textBlock(leftOut(block, fault.problem));
  });
};
