import { type Block, isBlank, type Part, paragraph, plain } from '../../../shared/flow/reply.ts';
import { plainText } from './entities.ts';
import { pack } from './pack.ts';
import { parse } from './parse.ts';
import { richBlocks } from './rich.ts';
import { fitsRich, hasRichShape, richSize } from './rich-limits.ts';
import { ENTITIES, RICH } from './ruler.ts';

export interface LayoutOptions {
  /** `auto`: uses rich messages only for answers with a table, tasks, details, a display formula or footnotes. */
  readonly rich: 'auto' | 'off' | 'always';
}

/**
 * Lays out a model's answer as parts that Telegram accepts, in order. No part is blank, and an answer that is not blank has at
 * least one part. Total; takes linear time.
 */
export function layOut(markdown: string, { rich }: LayoutOptions): Part[] {
  const blocks = parse(markdown);
  const parts = isRich(blocks, rich) ? richParts(blocks) : entityParts(blocks);
  if (parts.length > 0 || isBlank(markdown)) return parts;
  // The answer has only formatting without text, such as an empty code block. Send the answer as it was written.
  return entityParts([paragraph(plain(markdown.toWellFormed().trim()))]);
}

/** The parts to send instead of a part whose format Telegram refuses. Empty for a plain text, since no format is simpler. */
export function stepDown({ path, blocks }: Part): Part[] {
  if (path === 'rich') return entityParts(blocks);
  return path === 'entities' ? [{ path: 'plain', blocks }] : [];
}

/** The plain text of a part. A conclusion stores this text, too, e.g. for older versions, which know only texts. */
export function textOf({ blocks }: Part): string {
  return plainText(blocks);
}

function isRich(blocks: readonly Block[], rich: LayoutOptions['rich']): boolean {
  if (rich === 'off' || (rich === 'auto' && !blocks.some(needsRich))) return false;
  return hasRichShape(richSize(richBlocks(blocks)));
}

/** Whether a rich message shows a block much better than a text with entities does. */
function needsRich(block: Block): boolean {
  switch (block.type) {
    case 'table':
    case 'details':
    case 'formula':
      return true;
    case 'list':
      return (
        block.isNotes === true ||
        block.items.some(({ checked, blocks }) => checked !== undefined || blocks.some(needsRich))
      );
    case 'quote':
      return block.blocks.some(needsRich);
    default:
      return false;
  }
}

function richParts(blocks: readonly Block[]): Part[] {
  return pack(blocks, RICH).flatMap((each): Part[] =>
    fitsRich(each) ? [{ path: 'rich', blocks: each }] : entityParts(each),
  );
}

/** Lays out blocks as texts with entities. */
export function entityParts(blocks: readonly Block[]): Part[] {
  return pack(blocks, ENTITIES).map((each) => ({ path: 'entities', blocks: each }));
}

/** Bot API, `sendMessage`: 4,096 UTF-16 units after entity parsing. */
export const MESSAGE_CHARS_MAX = 4_096;

/**
 * Splits a plain text into parts that fit Telegram's limit, in order. Each cut is at a line break; failing that, at the end of
 * a sentence, at a space, or between two graphemes. Loses only white space at the ends of parts. No part is blank. Pure, total.
 */
export function splitReply(text: string): string[] {
  return entityParts([paragraph(plain(text.toWellFormed().trim()))]).map(textOf);
}
