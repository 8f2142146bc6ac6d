import {
  type Block,
  type Cell,
  type Details,
  type Item,
  isBlank,
  type List,
  lettersOf,
  paragraph,
  plain,
  type Quote,
  type Table,
} from '../../../shared/flow/reply.ts';
import { type Cut, cutCode, cutProse, type Room } from './cut.ts';
import { inItem, inQuote, markerOf, plainText, TOP } from './entities.ts';
import { minus, type Ruler, type Size, sizeWithin } from './ruler.ts';

/** Cuts a table between rows; the rest has the same header and widths. Rows that fit into no message become paragraphs. */
function cutTable(original: Table, { ruler, space, place, isEmpty }: Room): Cut {
  const table = ruler.fixWidths(original);
  const bare = ruler.sizeOf([{ ...table, rows: [] }], place);
  let room = minus(space, bare);
  let count = 0;
  for (const row of table.rows) {
    const size = minus(ruler.sizeOf([{ ...table, rows: [row] }], place), bare);
    if (!isWithin(size, room)) break;
    room = minus(room, size);
    count += 1;
  }
  const rest = table.rows.slice(count);
  if (count > 0) return { head: [{ ...table, rows: table.rows.slice(0, count) }], rest: withRows(table, rest) };
  if (!isEmpty) return { head: [], rest: [original] };
  // Either the first row fits into no message, or the header leaves no room for rows.
  const isHeaderLong = !isWithin(
    bare,
    ruler.limit.map((limit) => limit / 2),
  );
  const [first = [], ...others] = table.rows;
  if (!isHeaderLong) return { head: [], rest: [...rowInWords(table.header, first), ...withRows(table, others)] };
  return { head: [], rest: [...rowInWords([], table.header), ...table.rows.flatMap((row) => rowInWords([], row))] };
}

function withRows(table: Table, rows: Table['rows']): Block[] {
  return rows.length === 0 ? [] : [{ ...table, rows }];
}

/** The cells of a row as paragraphs, each after the name of its column, if it has one. Omits empty cells. */
function rowInWords(header: readonly Cell[], row: readonly Cell[]): Block[] {
  return row.flatMap((cell, column) => {
    if (lettersOf(cell) === '') return [];
    const name = header[column] ?? [];
    return [
      paragraph(...(lettersOf(name) === '' ? cell : [{ type: 'bold' as const, inlines: name }, plain(': '), ...cell])),
    ];
  });
}

function isWithin(size: Size, room: Size): boolean {
  return size.every((each, index) => each <= (room[index] ?? 0));
}

/**
 * Splits blocks into messages within the ruler's limit: between blocks if possible, else between items or rows, else within a
 * text. Drops blank messages. Takes linear time, since it does not measure a block that is far larger than a message. Always
 * terminates.
 */
export function pack(blocks: readonly Block[], ruler: Ruler): (readonly Block[])[] {
  const messages: (readonly Block[])[] = [];
  let rest = blocks;
  while (rest.length > 0) {
    const { head, rest: after } = take(rest, { ruler, space: ruler.limit, place: TOP, isEmpty: true });
    if (!isBlank(plainText(head))) messages.push(head);
    // If no piece of the first block fits, go on with its plain text, which can always be cut.
    rest = head.length > 0 ? after : [paragraph(plain(plainText(after.slice(0, 1)))), ...after.slice(1)];
  }
  return messages;
}

/** Takes blocks from the beginning as long as they fit into the room, and a part of the next block if a cut is worth it. */
function take(blocks: readonly Block[], room: Room): Cut {
  const { ruler, place } = room;
  const head: Block[] = [];
  let { space } = room;
  for (const [index, block] of blocks.entries()) {
    const size = sizeWithin(ruler, block, space, place);
    if (size !== undefined) {
      head.push(block);
      space = minus(space, size);
      continue;
    }
    const isEmpty = room.isEmpty && head.length === 0;
    const others = blocks.slice(index + 1);
    const isAfterTitle = head.length > 0 && head.every(({ type }) => type === 'heading');
    const isCut = isEmpty || isAfterTitle || isWorthACut(block, { ...room, space });
    if (!isCut) return moveLastHeading(head, [block, ...others]);
    const cut = cutBlock(block, { ...room, space, isEmpty });
    const isChanged = isEmpty && cut.head.length === 0 && cut.rest[0] !== block;
    if (isChanged) return take([...cut.rest, ...others], room);
    return moveLastHeading([...head, ...cut.head], [...cut.rest, ...others]);
  }
  return { head, rest: [] };
}

/** Moves a heading from the end of a message to the next message, unless the message has no other block. */
function moveLastHeading(head: readonly Block[], rest: readonly Block[]): Cut {
  const last = head.at(-1);
  if (last?.type !== 'heading' || head.length < 2) return { head, rest };
  return { head: head.slice(0, -1), rest: [last, ...rest] };
}

/** Whether to cut a block: if at least half the message is empty, and the block contains blocks or exceeds a whole message. */
function isWorthACut(block: Block, { ruler, space, place }: Room): boolean {
  if (ruler.limit.some((limit, index) => (space[index] ?? 0) * 2 < limit)) return false;
  const hasSeams = block.type === 'list' || block.type === 'quote' || block.type === 'details';
  return hasSeams || sizeWithin(ruler, block, ruler.limit, place) === undefined;
}

function cutBlock(block: Block, room: Room): Cut {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return cutProse(block, room);
    case 'code':
      return cutCode(block, room);
    case 'formula':
      return cutCode({ type: 'code', text: block.text, language: 'latex' }, room);
    case 'rule':
      return { head: [], rest: [block] };
    case 'quote':
      return cutQuote(block, room);
    case 'details':
      return cutDetails(block, room);
    case 'list':
      return cutList(block, room);
    case 'table':
      return cutTable(block, room);
  }
}

function cutQuote(quote: Quote, room: Room): Cut {
  return cutInside(quote, take(quote.blocks, roomInside(room, { place: inQuote(room.place) })));
}

/** Cuts a details block; the rest repeats the summary. In an empty message, a summary that is too long becomes a paragraph. */
function cutDetails(details: Details, room: Room): Cut {
  const { ruler, place, isEmpty } = room;
  const title = paragraph({ type: 'bold', inlines: details.summary });
  const quarter = ruler.limit.map((limit) => limit / 4);
  const size = sizeWithin(ruler, title, quarter, place);
  if (size === undefined) return { head: [], rest: isEmpty ? [title, ...details.blocks] : [details] };
  const inside = take(details.blocks, roomInside(room, { space: minus(room.space, size) }));
  return cutInside(details, inside);
}

function cutInside(block: Quote | Details, { head, rest }: Cut): Cut {
  if (head.length === 0) return { head: [], rest: [block] };
  return { head: [{ ...block, blocks: head }], rest: rest.length === 0 ? [] : [{ ...block, blocks: rest }] };
}

function cutList(list: List, room: Room): Cut {
  let { space } = room;
  for (const [index, item] of list.items.entries()) {
    const size = sizeWithin(room.ruler, sliceList(list, index, index + 1), space, room.place);
    if (size === undefined) return cutAtItem(list, index, item, { ...room, space });
    space = minus(space, size);
  }
  return { head: [list], rest: [] };
}

/** Cuts a list within the item that does not fit, or before that item. */
function cutAtItem(list: List, index: number, item: Item, room: Room): Cut {
  const isEmpty = room.isEmpty && index === 0;
  if (isEmpty || isWorthACut(list, room)) {
    const place = inItem(room.place, markerOf(list, index, item));
    const { head, rest } = take(item.blocks, roomInside(room, { place, isEmpty }));
    const items = [...list.items.slice(0, index), { ...item, blocks: head }];
    const after = index + 1 < list.items.length ? [sliceList(list, index + 1)] : [];
    if (head.length > 0) return { head: [{ ...list, items }], rest: [...rest, ...after] };
  }
  return index === 0
    ? { head: [], rest: [list] }
    : { head: [sliceList(list, 0, index)], rest: [sliceList(list, index)] };
}

/** The items of a list from index `from` up to, but not including, index `to`. They keep their numbers. */
function sliceList(list: List, from: number, to?: number): List {
  return { ...list, ...(list.start !== undefined && { start: list.start + from }), items: list.items.slice(from, to) };
}

function roomInside(room: Room, change: Partial<Room>): Room {
  const inner = { ...room, ...change };
  return { ...inner, space: minus(inner.space, room.ruler.frame) };
}
