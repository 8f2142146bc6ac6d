import type { IncomingMessage } from 'node:http';

/** A method's parameters, however they were sent. Form values are read as JSON where a method asks for more than text. */
export type Params = Record<string, unknown>;

/** A file that came in a multipart form. */
export interface Upload {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Reads query, JSON, form and multipart parameters. Undefined when a JSON body is none. */
export function readParams(request: IncomingMessage, query: URLSearchParams, body: Buffer): Params | undefined {
  const type = request.headers['content-type'] ?? '';
  const params: Params = Object.fromEntries(query);
  if (body.length === 0) return params;
  if (type.startsWith('application/json')) {
    const parsed = parseJson(body.toString());
    return isParams(parsed) ? { ...params, ...parsed } : undefined;
  }
  if (type.startsWith('multipart/form-data')) {
    const boundary = /boundary="?([^";]+)"?/.exec(type)?.[1] ?? '';
    return { ...params, ...readMultipart(body, boundary) };
  }
  return { ...params, ...Object.fromEntries(new URLSearchParams(body.toString())) };
}

function isParams(value: unknown): value is Params {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Enough of multipart for some files and fields, which is what a bot sends. */
function readMultipart(body: Buffer, boundary: string): Params {
  const params: Params = {};
  const separator = Buffer.from(`--${boundary}`);
  let at = body.indexOf(separator);
  while (at >= 0) {
    const next = body.indexOf(separator, at + separator.length);
    if (next < 0) break;
    // A part stands between two line breaks, of two bytes each, that belong to the separators.
    readPart(body.subarray(at + separator.length + 2, next - 2), params);
    at = next;
  }
  return params;
}

function readPart(part: Buffer, params: Params): void {
  const split = part.indexOf('\r\n\r\n');
  const head = part.toString('utf8', 0, Math.max(0, split));
  const name = /\bname="([^"]*)"/i.exec(head)?.[1];
  if (split < 0 || name === undefined) return;
  const bytes = part.subarray(split + 4);
  const fileName = /filename="([^"]*)"/i.exec(head)?.[1];
  params[name] = fileName === undefined ? bytes.toString() : ({ name: fileName, bytes } satisfies Upload);
}

/** A whole number, or undefined when it is missing or none. */
export function asInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** A text; a number counts as one, as it does in a form. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
}

/** A flag as JSON or as form text. */
export function asFlag(value: unknown): boolean {
  return value === true || value === 'true' || value === 'True' || value === '1';
}

/** An object or list, sent as such or as JSON text. Undefined when it is missing or unreadable. */
export function asJson(value: unknown): unknown {
  const parsed = typeof value === 'string' ? parseJson(value) : value;
  return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
}
