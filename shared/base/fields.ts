/** Parses JSON; `undefined`, which no JSON text represents, if the text is absent or malformed. Pure, never throws. */
export function jsonValue(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** Parses a JSON object; `undefined` for anything else, such as `null`, an array or malformed JSON. Pure, never throws. */
export function jsonFields(text: string | undefined): Record<string, unknown> | undefined {
  const value = jsonValue(text);
  return isFields(value) ? value : undefined;
}

/** Whether a value is an object, and neither null nor an array. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
