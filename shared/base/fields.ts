/** Parses JSON; `undefined`, which is no JSON value, if the text is malformed. Pure, never throws. */
export function jsonValue(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** Parses a JSON object; `undefined` for any other text, such as `null` or an array. Pure, never throws. */
export function jsonFields(text: string | undefined): Record<string, unknown> | undefined {
  const value = jsonValue(text);
  return isFields(value) ? value : undefined;
}

/** Whether a value is a JSON object: neither null nor an array. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
