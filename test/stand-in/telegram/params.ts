/** The parameters of a method: how they are sent, and how they are read. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { badRequest } from './refusal.ts';

/** A method's parameters, however they were sent. */
export type Params = Record<string, unknown>;

/** A file that came in a multipart form. */
export interface Upload {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Parses query, JSON, form and multipart parameters. Undefined when a JSON body is none. */
export async function readParams(
  { headers: { 'content-type': type = '' } }: IncomingMessage,
  query: URLSearchParams,
  body: Buffer,
): Promise<Params | undefined> {
  const params: Params = Object.fromEntries(query);
  if (body.length === 0) return params;
  if (type.startsWith('application/json')) {
    const parsed = parsedJson(body.toString());
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? { ...params, ...parsed } : undefined;
  }
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  for (const [name, value] of form) {
    const isText = typeof value === 'string';
    params[name] = isText ? value : { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) };
  }
  return params;
}

/** The value of a JSON text; the text itself where it is none. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A whole number, as such or as the text of a form. */
export const integer = z.preprocess(
  (sent) => (typeof sent === 'string' && sent.trim() !== '' ? Number(sent) : sent),
  z.int(),
);

/** A text; a number counts as one, as it does in a form. */
export const text = z.preprocess((sent) => (typeof sent === 'number' ? String(sent) : sent), z.string());

/** A flag, as such or as the text of a form; false where it is missing. */
export const flag = z.preprocess((sent) => sent === true || sent === 'true', z.boolean());

/** An object or list, as such or as JSON text. */
export const json = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((sent) => (typeof sent === 'string' ? parsedJson(sent) : sent), schema);

/** What is wrong with the form of a value; other refusals are whole sentences of the server. */
const OF_FORM: ReadonlySet<unknown> = new Set(['invalid_type', 'invalid_union', 'invalid_value']);

/** Reads a value by a schema. Refuses a wrong one in the words of the Bot API server; `reads` is what it says that it reads. */
export function read<Schema extends z.ZodType>(schema: Schema, sent: unknown, reads = ''): z.output<Schema> {
  const { success, data, error } = schema.safeParse(sent, { error: wordsOf });
  if (success) return data;
  const [{ code, message } = { code: 'custom', message: '' }] = error.issues;
  throw badRequest(reads !== '' && OF_FORM.has(code) ? `can't parse ${reads}: ${message}` : message);
}

/** The server names the field that is wrong, and never where that stands. */
function wordsOf({ code, path, input, ...issue }: z.core.$ZodRawIssue): string {
  const field = path?.at(-1);
  const isNamed = typeof field === 'string';
  if (isNamed && input === undefined) return `Can't find field "${field}"`;
  if (code === 'invalid_union') {
    const options = (issue.errors as z.core.$ZodIssue[][] | undefined)?.flat() ?? [];
    // The option that was read furthest is the one that was meant.
    const meant = options.toSorted((one, other) => other.path.length - one.path.length)[0];
    return meant !== undefined && meant.path.length > 0 ? meant.message : 'Unsupported rich text type';
  }
  const expected = String(issue.expected ?? 'object').replace('int', 'number');
  const type = `${expected.slice(0, 1).toUpperCase()}${expected.slice(1)}`;
  return isNamed ? `Field "${field}" must be of type ${type}` : `expected an ${type}`;
}
