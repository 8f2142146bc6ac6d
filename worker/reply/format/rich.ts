import type { InputRichBlock, InputRichBlockListItem, RichBlockTableCell, RichText } from '@grammyjs/types';
import type { Block, Cell, Details, Inline, Item, List, Table } from '../../../shared/flow/reply.ts';
import { EMPHASIS_TYPES } from './canvas.ts';

/** A block of a rich message. It contains no files. */
export type RichBlock = InputRichBlock<never>;

/**
 * Draws blocks as blocks of a rich message. Drops empty blocks, which Telegram refuses. Draws a formula within details as code,
 * since a formula there crashes Telegram Desktop. Pure, total.
 */
export function richBlocks(blocks: readonly Block[], isInDetails = false): RichBlock[] {
  return blocks.flatMap((block) => richBlock(block, isInDetails));
}

function richBlock(block: Block, isInDetails: boolean): RichBlock[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading': {
      const text = richText(block.inlines, isInDetails);
      if (text === '') return [];
      return [block.type === 'heading' ? { type: 'heading', text, size: block.level } : { type: 'paragraph', text }];
    }
    case 'code':
      return pre(block.text, block.language);
    case 'formula':
      if (isInDetails || block.text === '') return pre(block.text, 'latex');
      return [{ type: 'mathematical_expression', expression: block.text }];
    case 'rule':
      return [{ type: 'divider' }];
    case 'quote': {
      const blocks = richBlocks(block.blocks, isInDetails);
      return blocks.length === 0 ? [] : [{ type: 'blockquote', blocks }];
    }
    case 'list':
      return richList(block, isInDetails);
    case 'table':
      return richTable(block, isInDetails);
    case 'details':
      return richDetails(block);
  }
}

function pre(text: string, language: string | undefined): RichBlock[] {
  return text === '' ? [] : [{ type: 'pre', text, ...(language !== undefined && { language }) }];
}

function richList({ items, start }: List, isInDetails: boolean): RichBlock[] {
  const richItems = items.flatMap((item, index) => {
    const number = start === undefined ? undefined : start + index;
    return richItem(item, number, isInDetails);
  });
  return richItems.length === 0 ? [] : [{ type: 'list', items: richItems }];
}

function richItem(
  { blocks, checked }: Item,
  number: number | undefined,
  isInDetails: boolean,
): InputRichBlockListItem<never>[] {
  const content = richBlocks(blocks, isInDetails);
  if (content.length === 0) return [];
  return [
    {
      blocks: content,
      ...(checked !== undefined && { has_checkbox: true }),
      ...(checked === true && { is_checked: true }),
      ...(number !== undefined && { value: number, type: '1' }),
    },
  ];
}

function richTable({ header, rows, align }: Table, isInDetails: boolean): RichBlock[] {
  const cellsOf = (row: readonly Cell[], isHeader: boolean) =>
    row.map((cell, column): RichBlockTableCell => {
      const text = richText(cell, isInDetails);
      const side = { align: align[column] ?? 'left', valign: 'top' } as const;
      return { ...(text !== '' && { text }), ...(isHeader && { is_header: true }), ...side };
    });
  const cells = [cellsOf(header, true), ...rows.map((row) => cellsOf(row, false))];
  return [{ type: 'table', cells, is_bordered: true, is_compact: true }];
}

function richDetails({ summary, blocks }: Details): RichBlock[] {
  const content = richBlocks(blocks, true);
  if (content.length === 0) return richBlock({ type: 'paragraph', inlines: summary }, true);
  return [{ type: 'details', summary: richText(summary, true), blocks: content }];
}

/** The text of inlines; '' if it is empty. */
function richText(inlines: readonly Inline[], isInDetails: boolean): RichText {
  const texts = inlines.map((inline) => richInline(inline, isInDetails)).filter((text) => text !== '');
  return texts.length > 1 ? texts : (texts[0] ?? '');
}

function richInline(inline: Inline, isInDetails: boolean): RichText {
  if ('text' in inline) {
    if (inline.type === 'text' || inline.type === 'time' || inline.text === '') return inline.text;
    if (inline.type === 'code' || isInDetails) return { type: 'code', text: inline.text };
    return { type: 'mathematical_expression', expression: inline.text };
  }
  const text = richText(inline.inlines, isInDetails);
  if (text === '') return '';
  return inline.type === 'link' ? { type: 'url', text, url: inline.url } : { type: EMPHASIS_TYPES[inline.type], text };
}
