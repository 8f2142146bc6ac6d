/** A request that is larger than the API takes, by what is largest and oldest. */

import { clipMiddle } from '../../../shared/base/text.ts';
import type { Block } from '../block.ts';
import { REQUEST_BYTES_MAX } from '../body-size.ts';
import { bytesOf } from '../json-text.ts';
import {
  type Draft,
  type Fix,
  messageOf,
  newestUserTurn,
  type Part,
  pendingPart,
  reviseBlocks,
  textBlock,
} from './draft.ts';
import { dropOldest } from './frame.ts';
import { removedText } from './media.ts';
import { fixPairs } from './pairs.ts';
import { isFields, isMedia } from './shapes.ts';

/** What is kept of a text at least, however much too large the request is. */
const KEPT_CHARS = 4_000;
/** More than the marker of a cut takes. */
const MARKER_BYTES = 200;

type Age = 'old' | 'newest' | 'pending';
type Tier = (draft: Draft, excessBytes: number) => void;

/** In the order of what is missed least. The words that wait for an answer are touched when nothing else is left. */
const TIERS: readonly Tier[] = [
  (draft, excess) => lighten(draft, excess, (age, block) => age === 'old' && isFile(block)),
  (draft, excess) => lighten(draft, excess, (age, block) => age === 'old' && !isFile(block)),
  dropOldestIfEnough,
  (draft, excess) => lighten(draft, excess, (age) => age === 'newest'),
  dropOldestIfEnough,
  (draft, excess) => lighten(draft, excess, (age) => age === 'pending'),
  dropOldestIfEnough,
];

/** `body-size`. */
export const fixSize: Fix = (draft, { bodyBytesMax = REQUEST_BYTES_MAX }) => {
  if (draft.bytes() <= bodyBytesMax) return;
  draft.note('body-size', '');
  for (const tier of TIERS) {
    const excess = draft.bytes() - bodyBytesMax;
    if (excess > 0) tier(draft, excess);
  }
};

/** A picture or a document that carries its bytes, unless it is a text that can be shortened. */
function isFile(block: Block): boolean {
  return isMedia(block) && longText(block) === undefined;
}

/** The text that a block holds, where it is not made of blocks itself. */
function longText({ content, source, text, type }: Block): string | undefined {
  const held = type === 'tool_result' ? content : text;
  const data = type === 'document' && isFields(source) && source.type === 'text' ? source.data : held;
  return typeof data === 'string' ? data : undefined;
}

function withText(block: Block, text: string): Block {
  if (block.type === 'tool_result') return { ...block, content: text };
  return block.type === 'document'
    ? { ...block, source: { ...(block.source as object), data: text } }
    : { ...block, text };
}

/** Takes from the largest blocks that `mayGive`, and no more than must be. */
function lighten(draft: Draft, excessBytes: number, mayGive: (age: Age, block: Block) => boolean): void {
  const pending = pendingPart(draft);
  const newest = new Set<Part>(newestUserTurn(draft)?.parts);
  const weights: { block: Block; path: string; bytes: number }[] = [];
  reviseBlocks(draft, (block, path, part) => {
    const age = part === pending ? 'pending' : newest.has(part) ? 'newest' : 'old';
    const isHeavy = isMedia(block) || longText(block) !== undefined;
    if (isHeavy && mayGive(age, block)) weights.push({ block, path, bytes: bytesOf(block) });
    return block;
  });
  const lighter = new Map<string, Block>();
  let excess = excessBytes;
  for (const { block, bytes, path } of weights.sort((a, b) => b.bytes - a.bytes)) {
    const next = excess > 0 ? lightened(block, excess) : block;
    const saved = bytes - bytesOf(next);
    if (next === block || saved <= 0) continue;
    excess -= saved;
    lighter.set(path, next);
    draft.note('body-size', path, isFile(block) ? 'placeholder' : 'shortened');
  }
  // Paths are unique among blocks that are large: what was added shares one, but has nothing to give.
  reviseBlocks(draft, (block, path) => lighter.get(path) ?? block);
}

/** Every UTF-16 unit that goes saves at least one byte, so a text need not lose more of them than there are bytes too many. */
function lightened(block: Block, excess: number): Block {
  const text = longText(block);
  if (text === undefined) return textBlock(removedText(block, 'the whole request was too large'));
  const chars = Math.max(KEPT_CHARS, text.length - excess - MARKER_BYTES);
  return chars < text.length ? withText(block, clipMiddle(text, chars)) : block;
}

/** Many small messages have nothing large to give: the oldest go, unless the newest would be too large even alone. */
function dropOldestIfEnough(draft: Draft, excessBytes: number): void {
  const newest = newestUserTurn(draft);
  const older = draft.turns.slice(0, newest ? draft.turns.indexOf(newest) : 0);
  let excess = excessBytes;
  const needed = older.findIndex((turn) => {
    excess -= bytesOf(messageOf(turn)) + 1;
    return excess <= 0;
  });
  if (needed < 0) return;
  // Turns come in pairs of question and answer, so that the user begins what is left.
  dropOldest(draft, needed + 1 + ((needed + 1) % 2), 'body-size');
  fixPairs(draft, { bindsThinking: false });
}
