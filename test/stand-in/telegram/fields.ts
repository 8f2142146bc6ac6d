/** Fields of JSON objects, read and refused in the words of the Bot API server. */
import { badRequest } from './refusal.ts';

/** What is wrong with a field; whoever reads the object around it says what the object was to be. */
export class FieldError extends Error {}

export type JsonObject = Record<string, unknown>;

/** Reads with the functions below; what they find wrong is refused as "<prefix>: <what>". */
export function reading<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldError ? badRequest(`${prefix}: ${error.message}`) : error;
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function objectOf(value: unknown): JsonObject {
  if (!isObject(value)) throw new FieldError('expected an Object');
  return value;
}

function required(object: JsonObject, name: string): unknown {
  if (object[name] === undefined) throw new FieldError(`Can't find field "${name}"`);
  return object[name];
}

/** A text; a number counts as one. */
export function textField(object: JsonObject, name: string): string {
  const value = required(object, name);
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw new FieldError(`Field "${name}" must be of type String`);
  }
  return String(value);
}

/** A text, or none where the field is missing or empty. */
export function textFieldOr(object: JsonObject, name: string): string | undefined {
  return object[name] === undefined ? undefined : textField(object, name) || undefined;
}

/** A whole number, as such or as text. */
export function integerField(object: JsonObject, name: string): number {
  const value = required(object, name);
  if (typeof value !== 'string' && typeof value !== 'number') throw new FieldError(`Field "${name}" must be a Number`);
  const number = value === '' ? Number.NaN : Number(value);
  if (!Number.isSafeInteger(number)) throw new FieldError(`Field "${name}" must be a valid Number`);
  return number;
}

export function integerFieldOr(object: JsonObject, name: string): number | undefined {
  return object[name] === undefined ? undefined : integerField(object, name);
}

export function flagField(object: JsonObject, name: string): boolean {
  const value = object[name] ?? false;
  if (typeof value !== 'boolean') throw new FieldError(`Field "${name}" must be of type Boolean`);
  return value;
}

export function objectField(object: JsonObject, name: string): JsonObject {
  const value = required(object, name);
  if (!isObject(value)) throw new FieldError(`Field "${name}" must be of type Object`);
  return value;
}

export function arrayField(object: JsonObject, name: string): unknown[] {
  const value = required(object, name);
  if (!Array.isArray(value)) throw new FieldError(`Field "${name}" must be of type Array`);
  return value;
}
