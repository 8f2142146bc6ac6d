import { Ajv2020 } from 'ajv/dist/2020.js';
import { clip } from '../../../shared/base/text.ts';
import { cleanText } from './content.ts';

/** A JSON Schema that is an object. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * A schema that the Messages API takes, or the reason why it would refuse it. `changed` when we rewrote it: in the
 * terms of the newer draft, or without what the API does not take.
 */
export type SchemaReading = { ok: true; schema: Schema; changed: boolean } | { ok: false; why: string };

const CHARS_MAX = 100_000;
/** Levels of JSON. Parsers along the way give up at around 200, and the request adds some levels around the schema. */
const DEPTH_MAX = 100;
const PLACE_CHARS_MAX = 120;

const CHOICES = ['anyOf', 'oneOf', 'allOf'];
const PLAIN_KEY = /^[A-Za-z0-9_.-]{1,64}$/;
/** Regex syntax that JavaScript knows and the engines with which endpoints check patterns do not. */
const OWN_SYNTAX = /\\[pP]\{|\\u\{|\(\?<[^=!]/;

const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const SCHEMA_LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
const SCHEMAS = new Set(
  'items additionalItems additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties'.split(
    ' ',
  ),
);

const judge = new Ajv2020({ strict: false, logger: false, validateFormats: false });

/**
 * Reads the input schema of a tool as its server lists it. Pure; takes any JSON and never throws. Bounded in time.
 *
 * The Messages API validates schemas against JSON Schema 2020-12. It wants an object at the top, without a choice
 * between schemas there, and only plain property names: one tool that breaks this gets every request refused. What has
 * an equivalent in the newer terms is rewritten (bounds and tuples of older drafts, a missing `type`). What only
 * narrows the input is removed (a choice beside properties, an optional property with another name, an unusual
 * pattern): the server checks its input itself.
 */
export function readSchema(listed: unknown): SchemaReading {
  const stated = listed ?? {};
  if (!isObject(stated)) return refused('its input schema is not an object');
  if (depthOf(stated) > DEPTH_MAX) return refused(`its input schema is nested deeper than ${DEPTH_MAX} levels`);
  const { $schema: _, ...bare } = stated;
  const text = JSON.stringify(bare);
  if (text.length > CHARS_MAX) return refused(`its input schema has ${text.length} characters, and not ${CHARS_MAX}`);
  const schema = withObjectTop(modern(cleaned(bare, text)) as Schema);
  const why = choiceFault(schema) ?? nameFault(schema);
  if (why !== undefined) return refused(why);
  const plain = withPlainTop(schema);
  const fault = draftFault(plain) ?? innerFault(plain);
  return fault === undefined
    ? { ok: true, schema: plain, changed: JSON.stringify(plain) !== text }
    : refused(`its input schema is not valid: ${fault}`);
}

function refused(why: string): SchemaReading {
  return { ok: false, why };
}

/** How many levels of objects and lists there are. Iterative, since the input may have thousands. */
function depthOf(value: object): number {
  let level: unknown[] = [value];
  let depth = 0;
  while (level.length > 0 && depth <= DEPTH_MAX) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    depth += 1;
  }
  return depth;
}

/** JSON escapes a lone surrogate, which the model's side cannot read. */
function cleaned(schema: Schema, text: string): Schema {
  if (!/\\u(?:d[89a-f]|0000)/i.test(text)) return schema;
  return JSON.parse(text, (_, value: unknown) => {
    if (typeof value === 'string') return cleanText(value);
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), inner]))
      : value;
  });
}

/** The schema in the terms of draft 2020-12: only schemas change, never an example or a default that looks like one. */
function modern(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const own: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, modernInside(keyword, value)]),
  );
  modernBound(own, 'exclusiveMinimum', 'minimum');
  modernBound(own, 'exclusiveMaximum', 'maximum');
  if (Array.isArray(own.items)) {
    own.prefixItems = own.items;
    delete own.items;
    if (own.additionalItems !== undefined) own.items = own.additionalItems;
    delete own.additionalItems;
  }
  if (typeof own.pattern === 'string' && (OWN_SYNTAX.test(own.pattern) || !isPattern(own.pattern))) delete own.pattern;
  return own;
}

function modernInside(keyword: string, value: unknown): unknown {
  if (Array.isArray(value)) return SCHEMA_LISTS.has(keyword) ? value.map(modern) : value;
  if (!isObject(value) || !SCHEMA_MAPS.has(keyword)) return SCHEMAS.has(keyword) ? modern(value) : value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, modern(inner)]));
}

/** In draft 4 a flag beside a bound made it exclusive. */
function modernBound(schema: Record<string, unknown>, exclusive: string, bound: string): void {
  if (typeof schema[exclusive] !== 'boolean') return;
  if (schema[exclusive] && typeof schema[bound] === 'number') {
    schema[exclusive] = schema[bound];
    delete schema[bound];
  } else delete schema[exclusive];
}

/**
 * The input of a tool is an object, even where its schema does not say so. Some languages write an empty map as a list.
 */
function withObjectTop(schema: Schema): Schema {
  const { type, properties } = schema;
  return {
    ...schema,
    ...(type === undefined && { type: 'object' }),
    ...(Array.isArray(properties) && properties.length === 0 && { properties: {} }),
  };
}

function choiceFault(schema: Schema): string | undefined {
  const choice = CHOICES.find((keyword) => keyword in schema);
  const isAll = !isObject(schema.properties) || Object.keys(schema.properties).length === 0;
  if (choice === undefined || !isAll) return undefined;
  return `its input schema is a choice (${choice}) at the top, which the model's API does not take`;
}

function nameFault({ properties, required }: Schema): string | undefined {
  if (!isObject(properties) || !Array.isArray(required)) return undefined;
  const odd = required.find((key) => typeof key === 'string' && key in properties && !PLAIN_KEY.test(key));
  if (odd === undefined) return undefined;
  return `it requires a property of a name that the model's API does not take: ${quoted(odd)}`;
}

function withPlainTop(schema: Schema): Schema {
  const entries = Object.entries(schema).filter(([key]) => !CHOICES.includes(key));
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'properties' && isObject(value) ? plainProperties(value) : value]),
  );
}

function plainProperties(properties: Schema): Schema {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => PLAIN_KEY.test(key)));
}

function draftFault(schema: Schema): string | undefined {
  if (schema.type !== 'object') return 'its type is not "object"';
  if (judge.validateSchema(schema) === true) return undefined;
  const [first] = judge.errors ?? [];
  return `${clip(first?.instancePath ?? '', PLACE_CHARS_MAX)} ${first?.message ?? 'is wrong'} (JSON Schema 2020-12)`;
}

/**
 * What the draft's own schema does not check: references that lead nowhere, and property names that are not a valid
 * pattern.
 */
function innerFault(schema: Schema): string | undefined {
  const rest: unknown[] = [schema];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const { $ref, patternProperties } = next as Schema;
    if (typeof $ref === 'string' && !isInside(schema, $ref)) return `${quoted($ref)} is referred to and not in it`;
    const broken = Object.keys(isObject(patternProperties) ? patternProperties : {}).find((key) => !isPattern(key));
    if (broken !== undefined) return `${quoted(broken)} is not a regular expression`;
    rest.push(...Object.values(next));
  }
  return undefined;
}

function isInside(schema: Schema, reference: string): boolean {
  if (!/^#(?:\/|$)/.test(reference)) return false;
  const keys = reference.slice(2).split('/').map(pointed);
  if (reference === '#' || reference === '#/') return reference === '#';
  let place: unknown = schema;
  for (const key of keys) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return false;
    place = (place as Schema)[key];
  }
  return true;
}

function pointed(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

function isPattern(pattern: string): boolean {
  return compiles(pattern, '') || compiles(pattern, 'u');
}

function compiles(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

function quoted(text: string): string {
  return JSON.stringify(clip(text, PLACE_CHARS_MAX));
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
