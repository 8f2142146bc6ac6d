/**
 * Which entities may stand in which, as the server puts them right (`fix_entities` of td's MessageEntity.cpp): code
 * excludes all others, quotes do not nest, links and mentions do not contain each other, and what is bold, italic,
 * underlined, struck or hidden is cut at the borders of the rest and joined where it touches.
 */
import type { Entity } from './entities.ts';

const SPLITTABLE = ['bold', 'italic', 'underline', 'strikethrough', 'spoiler'];
const QUOTES = ['blockquote', 'expandable_blockquote'];
/** These hold no other entity, and only quotes hold them. */
const CODE = ['pre', 'code', 'date_time'];

const PRIORITY: Readonly<Record<string, number>> = {
  blockquote: 0,
  expandable_blockquote: 0,
  pre: 11,
  code: 20,
  date_time: 30,
  text_link: 49,
  text_mention: 49,
  bold: 90,
  italic: 91,
  underline: 92,
  strikethrough: 93,
  spoiler: 94,
  custom_emoji: 99,
};

const priority = ({ type, language }: Entity): number =>
  type === 'pre' && language !== undefined ? 10 : (PRIORITY[type] ?? 50);
const endOf = ({ offset, length }: Entity): number => offset + length;
const isSplittable = ({ type }: Entity): boolean => SPLITTABLE.includes(type);
const isQuote = ({ type }: Entity): boolean => QUOTES.includes(type);
const isCode = ({ type }: Entity): boolean => CODE.includes(type);
/** A link, a mention, an emoji. */
const isWhole = (entity: Entity): boolean => !isSplittable(entity) && !isQuote(entity) && !isCode(entity);

/** The order that the server keeps: by place, the outer before the inner. */
export function sorted(entities: readonly Entity[]): Entity[] {
  return entities.toSorted((a, b) => a.offset - b.offset || b.length - a.length || priority(a) - priority(b));
}

/** The entities that are left, sorted. */
export function putRight(entities: readonly Entity[]): Entity[] {
  const all = sorted(entities);
  if (areRight(all)) return all;
  const quotes = apart(all.filter(isQuote));
  const whole = apart(all.filter((entity) => !isSplittable(entity) && !isQuote(entity))).filter(
    (entity) => !quotes.some((quote) => crosses(quote, entity)),
  );
  const fixed = sorted([...whole, ...quotes]);
  return sorted([...fixed, ...split(all.filter(isSplittable), fixed)]);
}

/** Those that begin after all earlier ones have ended. */
function apart(entities: readonly Entity[]): Entity[] {
  let end = 0;
  return entities.filter((entity) => {
    if (entity.offset < end) return false;
    end = endOf(entity);
    return true;
  });
}

/** Whether an entity reaches over a border of a quote. */
function crosses(quote: Entity, entity: Entity): boolean {
  if (endOf(quote) <= entity.offset || endOf(entity) <= quote.offset) return false;
  return endOf(quote) < endOf(entity) || entity.offset < quote.offset;
}

/** Whether sorted entities can stay as they are. */
function areRight(entities: readonly Entity[]): boolean {
  const ends = new Map<string, number>();
  let around: Entity[] = [];
  for (const entity of entities) {
    around = around.filter((outer) => entity.offset < endOf(outer));
    if (!fits(entity, around)) return false;
    if (isSplittable(entity)) {
      if ((ends.get(entity.type) ?? -1) >= entity.offset) return false;
      ends.set(entity.type, endOf(entity));
    }
    around.push(entity);
  }
  return true;
}

function fits(entity: Entity, around: readonly Entity[]): boolean {
  const parent = around.at(-1);
  if (parent === undefined) return true;
  if (endOf(entity) > endOf(parent) || around.some(({ type }) => type === entity.type)) return false;
  if (isCode(parent) || (isCode(entity) && !around.every(isQuote))) return false;
  if ((isWhole(entity) || isQuote(entity)) && around.some(isWhole)) return false;
  return !(isQuote(entity) && around.some(isQuote)) && !around.some(isSplittable);
}

/** Bold and its like, cut where another entity begins or a link, a quote or code ends, and left out where code stands. */
function split(entities: readonly Entity[], others: readonly Entity[]): Entity[] {
  const pieces = new Pieces(entities);
  const around: Entity[] = [];
  const moveTo = (offset: number): void => {
    for (let inner = around.at(-1); inner && offset >= endOf(inner); inner = around.at(-1)) {
      const count = pieces.cut.length;
      pieces.moveTo(endOf(inner));
      if (isCode(inner)) pieces.cut.length = count;
      around.pop();
    }
    pieces.moveTo(offset);
  };
  for (const other of others) {
    moveTo(other.offset);
    around.push(other);
  }
  moveTo(Number.POSITIVE_INFINITY);
  return pieces.cut;
}

/** Walks along a text, and cuts what is open. */
class Pieces {
  readonly cut: Entity[] = [];
  readonly #left: Entity[];
  readonly #open = new Map<string, { from: number; to: number }>();

  constructor(entities: readonly Entity[]) {
    this.#left = [...entities];
  }

  /** Opens what begins before that place, and cuts all that is open there. */
  moveTo(place: number): void {
    for (let next = this.#left[0]; next && next.offset < place; next = this.#left[0]) {
      const open = this.#open.get(next.type);
      if (open && next.offset <= open.to) open.to = Math.max(open.to, endOf(next));
      else {
        this.#cutAt(next.offset);
        this.#open.set(next.type, { from: next.offset, to: endOf(next) });
      }
      this.#left.shift();
    }
    this.#cutAt(place);
  }

  #cutAt(place: number): void {
    for (const type of SPLITTABLE) {
      const open = this.#open.get(type);
      if (!open || open.from >= place) continue;
      const to = Math.min(open.to, place);
      this.cut.push({ type, offset: open.from, length: to - open.from });
      if (open.to <= place) this.#open.delete(type);
      else open.from = to;
    }
  }
}
