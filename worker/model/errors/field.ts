/** The field, or undefined where reading it throws. */
export function field(value: unknown, key: string): unknown {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined;
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined;
  }
}

/** A header of the answer that an error keeps, in any of the ways in which errors keep headers. */
export function header(part: unknown, name: string): string | undefined {
  for (const headers of [field(part, 'headers'), field(part, 'responseHeaders')]) {
    const get = field(headers, 'get');
    let value: unknown;
    try {
      value = typeof get === 'function' ? get.call(headers, name) : field(headers, name);
    } catch {
      value = undefined;
    }
    if (typeof value === 'string' || typeof value === 'number') return String(value).slice(0, 100);
  }
  return undefined;
}
