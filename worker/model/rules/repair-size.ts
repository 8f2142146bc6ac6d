/** Mends rule 18: a request that is larger than the API takes, by what is largest and oldest. */

import { clipMiddle } from '../../../shared/base/text.ts';
import type { Block } from '../block.ts';
import { REQUEST_BYTES_MAX } from '../body-size.ts';
import { bytesOf } from '../json-text.ts';
import { isMedia, leftOut } from './contract-media.ts';
import { isFields } from './contract-shapes.ts';
import {
  type Draft,
  liveParts,
  type Mend,
  messagesOf,
  newestUserTurn,
  type Part,
  pendingPart,
  reviseBlocks,
  textBlock,
} from './repair-draft.ts';
import { dropOldest } from './repair-frame.ts';
import { mendPairs } from './repair-pairs.ts';

/** What is kept of a text at least, however much too large the request is. */
const KEPT_CHARS = 4_000;
/** More than the marker of a cut takes. */
const MARKER_BYTES = 200;

/** A block that may give way: a picture, a file, or a text. */
interface Weight {
  at: number;
  block: Block;
  path: string;
  bytes: number;
  age: 'old' | 'newest' | 'pending';
}

type Tier = (draft: Draft, excessBytes: number) => void;

/** In the order of what is missed least. The words that wait for an answer are touched when nothing else is left. */
const TIERS: readonly Tier[] = [
  (draft, excess) => lighten(draft, excess, ({ age, block }) => age === 'old' && isFile(block)),
  (draft, excess) => lighten(draft, excess, ({ age, block }) => age === 'old' && !isFile(block)),
  dropOldestIfEnough,
  (draft, excess) => lighten(draft, excess, ({ age }) => age === 'newest'),
  dropOldestIfEnough,
  (draft, excess) => lighten(draft, excess, ({ age }) => age === 'pending'),
  dropOldestIfEnough,
];

export const mendSize: Mend = (draft, { bodyBytesMax = REQUEST_BYTES_MAX }) => {
  for (const tier of TIERS) {
    const excess = bytesOf({ ...draft.top, messages: messagesOf(draft) }) - bodyBytesMax;
    if (excess <= 0) return;
    tier(draft, excess);
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
function lighten(draft: Draft, excessBytes: number, mayGive: (weight: Weight) => boolean): void {
  const weights = weigh(draft).filter(mayGive);
  weights.sort((a, b) => b.bytes - a.bytes);
  const lighter = new Map<number, Block>();
  let excess = excessBytes;
  for (const { at, block, bytes, path } of weights) {
    if (excess <= 0) break;
    const next = lightened(block, excess);
    const saved = bytes - bytesOf(next);
    if (saved <= 0) continue;
    excess -= saved;
    lighter.set(at, next);
    draft.note(18, path, isFile(block) ? 'placeholder' : 'shortened');
  }
  let at = 0;
  reviseBlocks(draft, (block) => {
    at += 1;
    return lighter.get(at) ?? block;
  });
}

/** Every UTF-16 unit that goes saves at least one byte, so a text need not lose more of them than there are bytes too many. */
function lightened(block: Block, excess: number): Block {
  const text = longText(block);
  if (text === undefined) return textBlock(leftOut(block, 'the whole request was too large'));
  const chars = Math.max(KEPT_CHARS, text.length - excess - MARKER_BYTES);
  return chars < text.length ? withText(block, clipMiddle(text, chars)) : block;
}

function weigh(draft: Draft): Weight[] {
  const newest = newestUserTurn(draft);
  const pending = pendingPart(draft);
  const newestParts = new Set<Part>(newest?.parts);
  const weights: Weight[] = [];
  let at = 0;
  reviseBlocks(draft, (block, path, part) => {
    at += 1;
    const age = part === pending ? 'pending' : newestParts.has(part) ? 'newest' : 'old';
    if (isFile(block) || longText(block) !== undefined) weights.push({ at, block, path, bytes: bytesOf(block), age });
    return block;
  });
  return weights;
}

/** Many small messages have nothing large to give: the oldest go, unless the newest would be too large even alone. */
function dropOldestIfEnough(draft: Draft, excessBytes: number): void {
  const newest = newestUserTurn(draft);
  const older = draft.turns.slice(0, newest ? draft.turns.indexOf(newest) : 0);
  let excess = excessBytes;
  const needed = older.findIndex((turn) => {
    excess -= bytesOf({ role: turn.role, content: liveParts(turn).map(({ block }) => block) }) + 1;
    return excess <= 0;
  });
  if (needed < 0) return;
  // Turns come in pairs of question and answer, so that the user begins what is left.
  dropOldest(draft, needed + 1 + ((needed + 1) % 2), 18);
  mendPairs(draft, { bindsThinking: false });
}
