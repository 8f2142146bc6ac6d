/** Which keys an object may have, and what kind of value each key has wherever it stands (rules 13, 21 and 25). */

import { isObject } from './request.ts';
import { firstOf, type Violation, violation } from './violation.ts';

/** The keys of an object: those it must have, and those it may have. */
export interface Shape {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/** A shape from two lists of keys. */
export const shape = (required: string, optional = ''): Shape => ({
  required: required.split(' ').filter(Boolean),
  optional: optional.split(' ').filter(Boolean),
});

/** The shape of something that is told apart by its `type`. */
export const tagged = (required: string, optional = ''): Shape => shape(`type ${required}`, optional);

const CACHE_CONTROL = shape('type', 'ttl');

/** Keys whose value must be a string wherever they stand. */
const STRINGS = new Set([
  'text',
  'thinking',
  'signature',
  'data',
  'media_type',
  'url',
  'file_id',
  'tool_name',
  'model',
]);
const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;
const NAMES = new Set(['id', 'name', 'tool_use_id']);

/** Whether an object has the keys of its shape, each with the kind of value that its name asks for. */
export function checkKeys(
  value: Record<string, unknown>,
  { required, optional }: Shape,
  path: string,
): Violation | undefined {
  const at = path === '' ? '' : `${path}.`;
  return (
    firstOf(required, (key) =>
      value[key] === undefined ? violation(key === 'max_tokens' ? 21 : 25, `${at}${key}: Field required`) : undefined,
    ) ??
    firstOf(Object.keys(value), (key) =>
      required.includes(key) || optional.includes(key)
        ? undefined
        : violation(25, `${at}${key}: Extra inputs are not permitted`),
    ) ??
    firstOf(Object.entries(value), ([key, each]) => checkValue(key, each, `${at}${key}`))
  );
}

/** Whether a value is of the kind that its key asks for, wherever it stands. */
export function checkValue(key: string, value: unknown, path: string): Violation | undefined {
  const isText = path === 'model' || (STRINGS.has(key) && path !== key);
  if (isText && typeof value !== 'string') return violation(25, `${path}: Input should be a valid string`);
  if (NAMES.has(key) && !(typeof value === 'string' && NAME_PATTERN.test(value))) {
    return violation(13, `${path}: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`);
  }
  if (key === 'input' && !isObject(value)) return violation(13, `${path}: Input should be a valid dictionary`);
  if (key === 'is_error' && typeof value !== 'boolean')
    return violation(25, `${path}: Input should be a valid boolean`);
  if (key === 'cache_control' && value !== null) return checkCacheControl(value, path);
  return undefined;
}

function checkCacheControl(value: unknown, path: string): Violation | undefined {
  if (!isObject(value))
    return violation(25, `${path}: Input should be a valid dictionary or object to extract fields from`);
  if (value.type !== 'ephemeral') return violation(25, `${path}.type: Input should be 'ephemeral'`);
  if (value.ttl !== undefined && value.ttl !== '5m' && value.ttl !== '1h') {
    return violation(25, `${path}.ttl: Input should be '5m' or '1h'`);
  }
  return checkKeys(value, CACHE_CONTROL, `${path}.ephemeral`);
}

/** Whether a value is one of the shapes that its `type` tells apart, with no key too few or too many. */
export function checkTagged(
  value: unknown,
  shapes: Readonly<Record<string, Shape>>,
  path: string,
): Violation | undefined {
  if (!isObject(value)) {
    return violation(25, `${path}: Input should be a valid dictionary or object to extract fields from`);
  }
  const tag = value.type;
  if (typeof tag !== 'string') return violation(25, `${path}.type: Field required`);
  const known = Object.hasOwn(shapes, tag) ? shapes[tag] : undefined;
  if (known === undefined) {
    const tags = Object.keys(shapes).map((name) => `'${name}'`);
    return violation(
      25,
      `${path}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${tags.join(', ')}`,
    );
  }
  return checkKeys(value, known, `${path}.${tag}`);
}
