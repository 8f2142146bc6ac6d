/** The value that a JSON text holds; `undefined`, which no JSON has, where it is none. Pure, never throws. */
export function jsonValue(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** The object that a JSON text holds, neither null nor a list; `undefined` where it holds none. Pure, never throws. */
export function jsonFields(text: string | undefined): Record<string, unknown> | undefined {
  const value = jsonValue(text);
  return isFields(value) ? value : undefined;
}

/** Whether a value is a JSON object, neither null nor a list. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
