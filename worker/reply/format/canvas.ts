import type { MessageEntity } from '@grammyjs/types';
import type { Emphasis } from '../../../shared/flow/reply.ts';

type Unplaced<Entity> = Entity extends unknown ? Omit<Entity, 'offset' | 'length'> : never;

/** An entity without its position. */
export type Mark = Unplaced<MessageEntity>;
export type EntityType = MessageEntity['type'];

export const EMPHASIS_TYPES = {
  bold: 'bold',
  italic: 'italic',
  strike: 'strikethrough',
  spoiler: 'spoiler',
} as const satisfies Record<Emphasis, EntityType>;

export interface Formatted {
  readonly text: string;
  readonly entities: MessageEntity[];
}

/** A text with entities that is still being drawn. */
export interface Canvas {
  text: string;
  entities: MessageEntity[];
  /** The indentation and marker that begin the next line, if that is the first line of a list item; otherwise undefined. */
  lead: string | undefined;
}

/** Telegram silently drops the entities of a message beyond this number. */
export const ENTITIES_MAX = 100;
/** The maximum size of all entities of a message as JSON. Telegram refuses about 9,500 bytes of entities. */
export const ENTITY_BYTES_MAX = 9_000;

/** Types by importance: of too many entities, the least important ones are dropped. Links come first, to save their URLs. */
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

/** Adds an entity for the text that `draw` writes, except its inline code: Telegram accepts no other entity on code. */
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

/** The trimmed text with its sorted entities, without entities of blank text and without those beyond Telegram's limits. */
export function finishCanvas({ text, entities }: Canvas): Formatted {
  const end = text.trimEnd().length;
  const start = startOf(text, entities);
  const marks = entities.flatMap((entity) => {
    const [from, to] = markedRange(text, entity, start, end);
    return text.slice(from, to).trim() === '' ? [] : [{ ...entity, offset: from - start, length: to - from }];
  });
  return { text: text.slice(start, end), entities: mostImportant(marks).sort(inOrder) };
}

/** Where the text begins, after leading white space. The indentation of code at the beginning belongs to the text. */
function startOf(text: string, entities: readonly MessageEntity[]): number {
  const start = text.length - text.trimStart().length;
  const code = entities.find(({ type, offset, length }) => type === 'pre' && offset < start && offset + length > start);
  return code === undefined ? start : Math.max(code.offset, text.lastIndexOf('\n', start) + 1);
}

/** The range of an entity without white space at either end. Code blocks and quotes keep that space: it may be indentation. */
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
  const result: MessageEntity[] = [];
  for (const entity of ranked) {
    const bytes = Buffer.byteLength(JSON.stringify(entity)) + 1;
    if (result.length >= ENTITIES_MAX || bytes > room) continue;
    result.push(entity);
    room -= bytes;
  }
  return result;
}

/** Sorts by offset, then from long to short. In the same range, a quote comes first, since no entity can enclose a quote. */
function inOrder(a: MessageEntity, b: MessageEntity): number {
  return a.offset - b.offset || b.length - a.length || Number(isQuote(b)) - Number(isQuote(a));
}

function isQuote({ type }: MessageEntity): boolean {
  return type.endsWith('blockquote');
}
