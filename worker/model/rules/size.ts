/** A request that is larger than the API takes, by what is largest and oldest. */

import { isFields } from '../../../shared/base/fields.ts';
import { clipMiddle } from '../../../shared/base/text.ts';
import { type Block, bytesOf, REQUEST_BYTES_MAX } from '../block.ts';
import { type Draft, type Fix, messageOf, newestUserTurn, type Part, pendingPart } from './draft.ts';
import { dropOldest } from './frame.ts';
import { placeholder } from './media.ts';
import { fixPairs } from './pairs.ts';
import { isMedia } from './shapes.ts';

/** The least that is kept of a text, however much too large the request is. */
const KEPT_CHARS = 4_000;
/** More than the marker of a cut takes. */
const MARKER_BYTES = 200;

type Age = 'old' | 'newest' | 'pending';
type Tier = (draft: Draft, excessBytes: number) => void;

/** In the order of what is missed least. The words that wait for an answer are touched when nothing else is left. */
const TIERS: readonly Tier[] = [
  lighten('old', isFile),
  lighten('old'),
  dropOldestIfEnough,
  lighten('newest'),
  dropOldestIfEnough,
  lighten('pending'),
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

/** A block that may give something: it carries the bytes of a file, or a text that can be shortened. */
function isHeavy(block: Block): boolean {
  return isMedia(block) || longText(block) !== undefined;
}

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

/** Takes from the largest blocks of an age, and no more than must be. */
function lighten(age: Age, mayGive = isHeavy): Tier {
  return (draft, excessBytes) => {
    const pending = pendingPart(draft);
    const newest = new Set(newestUserTurn(draft)?.parts);
    const ageOf = (part: Part): Age => (part === pending ? 'pending' : newest.has(part) ? 'newest' : 'old');
    const places = draft.blocks((block, part) => mayGive(block) && ageOf(part) === age);
    const heaviest = places.map((place) => ({ place, bytes: bytesOf(place.block) })).sort((a, b) => b.bytes - a.bytes);
    let excess = excessBytes;
    for (const { bytes, place } of heaviest) {
      if (excess <= 0) return;
      const next = lightened(place.block, excess);
      const saved = bytes - bytesOf(next);
      if (saved <= 0) continue;
      excess -= saved;
      draft.rewrite(place, next, 'body-size', isFile(place.block) ? 'placeholder' : 'shortened');
    }
  };
}

/**
 * Every UTF-16 unit that goes saves at least one byte, so a text need not lose more of them than there are bytes too
 * many.
 */
function lightened(block: Block, excess: number): Block {
  const text = longText(block);
  if (text === undefined) return placeholder(block, 'the whole request was too large');
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
