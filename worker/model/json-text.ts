/** Any escape of a JSON text, lone surrogates apart: `JSON.stringify` escapes a surrogate only when it is alone. */
const ESCAPES = /\\(?:ud[89a-f][0-9a-f]{2}|[\s\S])/g;

/** A value as JSON, or undefined when it has none: a cycle, a bigint, a nesting too deep. Never throws. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Whether a text that `JSON.stringify` wrote holds half a surrogate pair, in a key or in a value. Linear. */
export function hasLoneSurrogate(json: string): boolean {
  if (!json.includes('\\ud')) return false;
  for (const [found] of json.matchAll(ESCAPES)) if (found.length > 2) return true;
  return false;
}

/** Whether no text in a value, key or not, holds half a surrogate pair. Much faster than writing the value down. */
export function isWellFormed(value: unknown): boolean {
  try {
    return everyText(value);
  } catch {
    // Nested too deep to be walked: let it be written down, and be judged there.
    return false;
  }
}

function everyText(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(everyText);
  for (const key in value) if (!key.isWellFormed() || !everyText(value[key as keyof typeof value])) return false;
  return true;
}

/** The value of a JSON text, with every half of a surrogate pair replaced, in keys too and at any depth. */
export function wellFormedValue(json: string): unknown {
  return JSON.parse(json.replace(ESCAPES, (found) => (found.length > 2 ? '\\ufffd' : found)));
}

/** The size of a value on the wire in bytes; 0 when it cannot be written. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(jsonOf(value) ?? '');
}
