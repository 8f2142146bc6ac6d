/** A text with its entities, read as the server reads it. */
import { z } from 'zod';
import { wrongLink } from './markup.ts';
import { json, read, text } from './params.ts';
import { badRequest } from './refusal.ts';

/** What a reader sees. */
export interface Formatted {
  readonly text: string;
  readonly entities?: Entity[];
}

/** One entity: a part of a text, and what it is. Offsets count UTF-16 units. */
export interface Entity {
  type: string;
  offset: number;
  length: number;
  [more: string]: unknown;
}

const ENTITIES_MAX = 100;
const ENTITY_BYTES_MAX = 9_500;
const PLAIN = ['bold', 'italic', 'strikethrough', 'spoiler', 'code', 'blockquote', 'expandable_blockquote'] as const;
const PLACE = { offset: z.int(), length: z.int() };
/** The entities that a gateway sends. */
const entity: z.ZodType<Entity> = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.enum(PLAIN), ...PLACE }),
    z.object({ type: z.literal('pre'), ...PLACE, language: z.string().optional() }),
    z.object({ type: z.literal('text_link'), ...PLACE, url: z.string() }),
    z.object({
      type: z.literal('date_time'),
      ...PLACE,
      unix_time: z.int(),
      date_time_format: z.string().regex(/^(?:[rR]|[wtTdD]*)$/, 'Invalid date-time format specified'),
    }),
  ],
  'Unsupported type specified',
);

/** The parameters that hold a text and its entities. */
export const FORMATTED = {
  text: text.default(''),
  entities: json(z.array(z.unknown())).optional(),
};

/** How long a text may be, in UTF-16 units, and what is said of a longer one. */
export const MESSAGE_MAX = { units: 4_096, tooLong: 'message is too long' };
export const CAPTION_MAX = { units: 1_024, tooLong: 'message caption is too long' };

/** Reads a text, which is empty where only white space was sent, and its entities, with `date_time` where the server knows it. */
export function formattedText(
  sent: z.output<z.ZodObject<typeof FORMATTED>>,
  { units, tooLong }: typeof MESSAGE_MAX,
  hasTimes = true,
): Formatted {
  const { text: whole, entities: list = [] } = sent;
  if (!whole.isWellFormed()) throw badRequest('strings must be encoded in UTF-8');
  const all = list.map((each) => read(entity, each, 'MessageEntity'));
  if (!hasTimes && all.some(({ type }) => type === 'date_time')) {
    throw badRequest("can't parse MessageEntity: Unsupported type specified");
  }
  if (Buffer.byteLength(JSON.stringify(list)) > ENTITY_BYTES_MAX) throw badRequest('ENTITIES_TOO_LONG');
  for (const each of all) checkPlace(whole, each);
  const kept = whole.replace(/[ \n]+$/, '');
  const from = Math.min(kept.search(/[^ \n]|$/), ...all.map(({ offset }) => offset));
  const places = all.map((each) => {
    const end = Math.min(each.offset + each.length, kept.length);
    return { ...each, offset: each.offset - from, length: end - each.offset };
  });
  const isShown = ({ length, url }: Entity) => length > 0 && (url === undefined || !wrongLink(String(url)));
  const entities = places.filter(isShown).slice(0, ENTITIES_MAX);
  if (kept.length - from > units) throw badRequest(tooLong);
  return { text: kept.slice(from), ...(entities.length > 0 && { entities }) };
}

/** Refuses an entity that is not in the text, or that cuts a surrogate pair. */
function checkPlace(whole: string, { offset, length }: Entity): void {
  const which = `entity beginning at UTF-16 offset ${offset}`;
  const end = offset + length;
  if (offset < 0) throw badRequest(`receive an entity with incorrect offset ${offset}`);
  if (offset > whole.length) throw badRequest(`entity begins after the end of the text at UTF-16 offset ${offset}`);
  if (end > whole.length) throw badRequest(`${which} ends after the end of the text at UTF-16 offset ${end}`);
  const isInPair = [offset, end].some((at) => !whole.slice(0, at).isWellFormed());
  if (isInPair) throw badRequest(`${which} begins or ends in a middle of a UTF-16 symbol`);
}
