import type { MessageEntity } from '@grammyjs/types';

type Unplaced<Entity> = Entity extends unknown ? Omit<Entity, 'offset' | 'length'> : never;

/** An entity before it is known what it marks. */
export type Mark = Unplaced<MessageEntity>;
export type EntityType = MessageEntity['type'];

export interface Formatted {
  readonly text: string;
  readonly entities: MessageEntity[];
}

/** A text while it is being drawn. */
export interface Canvas {
  text: string;
  entities: MessageEntity[];
  /** The beginning of the next line instead of its indentation: the marker of a list item. */
  lead: string | undefined;
}

/** Telegram drops what is beyond it without a word. */
export const ENTITIES_MAX = 100;
/** Of all entities as JSON; Telegram refuses about 9,500. */
export const ENTITY_BYTES_MAX = 9_000;

/** From the most important; the last go first when there are too many: never a link, whose URL is nowhere else. */
const IMPORTANCE: readonly EntityType[] = [
  'text_link',
  'spoiler',
  'pre',
  'expandable_blockquote',
  'blockquote',
  'code',
  'bold',
  'strikethrough',
  'italic',
];
export function newCanvas(): Canvas {
  return { text: '', entities: [], lead: undefined };
}

/** Marks what `draw` writes. Code stands alone: the mark is interrupted by it. */
export function mark(canvas: Canvas, entity: Mark, draw: () => void): void {
  let offset = canvas.text.length;
  const from = canvas.entities.length;
  draw();
  for (const code of canvas.entities.slice(from).filter(({ type }) => type === 'code')) {
    canvas.entities.push({ ...entity, offset, length: code.offset - offset });
    offset = code.offset + code.length;
  }
  canvas.entities.push({ ...entity, offset, length: canvas.text.length - offset });
}

/**
 * The drawn text as Telegram takes it: trimmed, with sorted entities that mark something, and no more than allowed.
 */
export function finished({ text, entities }: Canvas): Formatted {
  const end = text.trimEnd().length;
  const start = startOf(text, entities);
  const marks = entities.flatMap((entity) => {
    const [from, to] = markedRange(text, entity, start, end);
    return text.slice(from, to).trim() === '' ? [] : [{ ...entity, offset: from - start, length: to - from }];
  });
  return { text: text.slice(start, end), entities: mostImportant(marks).sort(inOrder) };
}

/** White space before the text goes; but the indentation of code at the beginning stays, as Telegram keeps it too. */
function startOf(text: string, entities: readonly MessageEntity[]): number {
  const start = text.length - text.trimStart().length;
  const code = entities.find(({ type, offset, length }) => type === 'pre' && offset < start && offset + length > start);
  return code === undefined ? start : Math.max(code.offset, text.lastIndexOf('\n', start) + 1);
}

/** Without white space at its ends; but code may begin with some, and a quote with code. */
function markedRange(text: string, entity: MessageEntity, start: number, end: number): [number, number] {
  const from = Math.max(entity.offset, start);
  const to = Math.min(entity.offset + entity.length, end);
  if (entity.type === 'pre' || isQuote(entity)) return [from, to];
  const marked = text.slice(from, to);
  const first = to - marked.trimStart().length;
  return [first, first + marked.trim().length];
}

function mostImportant(entities: readonly MessageEntity[]): MessageEntity[] {
  let room = ENTITY_BYTES_MAX;
  const ranked = [...entities].sort(
    (a, b) => IMPORTANCE.indexOf(a.type) - IMPORTANCE.indexOf(b.type) || a.offset - b.offset,
  );
  const kept: MessageEntity[] = [];
  for (const entity of ranked) {
    const bytes = Buffer.byteLength(JSON.stringify(entity)) + 1;
    if (kept.length >= ENTITIES_MAX || bytes > room) continue;
    kept.push(entity);
    room -= bytes;
  }
  return kept;
}

/** From the first and the outermost. Nothing stands around a quote. */
function inOrder(a: MessageEntity, b: MessageEntity): number {
  return a.offset - b.offset || b.length - a.length || Number(isQuote(b)) - Number(isQuote(a));
}

function isQuote({ type }: MessageEntity): boolean {
  return type.endsWith('blockquote');
}
