/** A text with its entities, cleaned as the server does it before it looks at the length. */
import { type Entity, readEntities } from './entities.ts';
import { putRight, sorted } from './entity-rules.ts';
import { asJson, asText, type Params } from './params.ts';
import { badRequest } from './refusal.ts';
import type { ApiVersion } from './versions.ts';

/** What a reader sees. */
export interface Formatted {
  readonly text: string;
  readonly entities: Entity[];
}

const BYTES_MAX = 32_768;
const ENTITIES_MAX = 100;

/** Line separators, marks of direction, and lines above and below a letter, which the server removes. */
const REMOVED = /\r|[\u2028-\u202e]|\u0333|\u033f|\u030a/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the server replaces.
const BLANKED = /[\x00-\x09\x0b\x0c\x0e-\x20]/;

/** A character as the server keeps it: a control character is a blank, some are nothing. */
const cleaned = (char: string): string => (REMOVED.test(char) ? '' : BLANKED.test(char) ? ' ' : char);

/** The text as the server keeps it, without its entities. */
export function cleanedText(text: string): string {
  return Array.from(text, cleaned).join('');
}

/**
 * Reads a text and its entities, which stand in the parameters under these names. The text is empty where only white
 * space was sent. No parse mode is offered: formatting comes as entities.
 */
export function formattedText(params: Params, textName: string, entitiesName: string, version: ApiVersion): Formatted {
  const sent = asText(params[textName]) ?? '';
  const mode = asText(params.parse_mode);
  if (Buffer.byteLength(sent) > BYTES_MAX) throw badRequest('text is too long');
  if (!sent.isWellFormed()) throw badRequest('strings must be encoded in UTF-8');
  if (mode !== undefined && mode !== '') throw badRequest('unsupported parse_mode');
  const entities = readEntities(asJson(params[entitiesName]), version);
  const clean = trimmed(withoutRemoved(sent, putRight(within(entities))));
  return { ...clean, entities: clean.entities.slice(0, ENTITIES_MAX) };
}

function within(entities: readonly Entity[]): Entity[] {
  for (const { offset, length } of entities) {
    if (offset < 0 || offset > 1e6) throw badRequest(`receive an entity with incorrect offset ${offset}`);
    if (length < 0 || length > 1e6) throw badRequest(`receive an entity with incorrect length ${length}`);
  }
  return entities.filter(({ length }) => length > 0);
}

/** Cleans a text; entities keep their words. Refuses one that is not in the text, or that cuts a surrogate pair. */
function withoutRemoved(text: string, entities: readonly Entity[]): Formatted {
  const places = new Map<number, number>();
  let clean = '';
  let at = 0;
  for (const char of text) {
    places.set(at, clean.length);
    clean += cleaned(char);
    at += char.length;
  }
  places.set(at, clean.length);
  const moved = entities.map((entity) => {
    const end = entity.offset + entity.length;
    if (entity.offset > at)
      throw badRequest(`entity begins after the end of the text at UTF-16 offset ${entity.offset}`);
    const from = places.get(entity.offset);
    const which = `entity beginning at UTF-16 offset ${entity.offset}`;
    if (from === undefined) throw badRequest(`entity begins ${inPair(text, entity.offset)}`);
    if (end > at) throw badRequest(`${which} ends after the end of the text at UTF-16 offset ${end}`);
    const to = places.get(end);
    if (to === undefined) throw badRequest(`${which} ends ${inPair(text, end)}`);
    return { ...entity, offset: from, length: to - from };
  });
  return { text: clean, entities: putRight(moved.filter(({ length }) => length > 0)) };
}

const inPair = (text: string, at: number): string =>
  `in a middle of a UTF-16 symbol at byte offset ${Buffer.byteLength(text.slice(0, at + 1))}`;

/** Drops blanks and line breaks at the end, and at the start as far as no entity stands there. */
function trimmed({ text, entities }: Formatted): Formatted {
  const kept = text.replace(/[ \n]+$/, '');
  const cut = entities
    .filter(({ offset }) => offset < kept.length)
    .map((entity) => ({ ...entity, length: Math.min(entity.length, kept.length - entity.offset) }));
  const blank = /^[ \n]*/.exec(kept)?.[0].length ?? 0;
  const from = Math.min(blank, sorted(cut)[0]?.offset ?? blank);
  return {
    text: kept.slice(from),
    entities: sorted(cut.map((entity) => ({ ...entity, offset: entity.offset - from }))),
  };
}
