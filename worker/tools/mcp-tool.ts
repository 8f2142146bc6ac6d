import { createHash } from 'node:crypto';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { z } from 'zod';
import { clip } from '../../shared/text.ts';
import { cleanText } from './mcp-content.ts';

/** A tool as its server lists it, made fit to be told of. */
export interface McpTool {
  /** The server's own name for it, as it is. */
  name: string;
  description: string;
  /** JSON Schema of the input, an object. */
  inputSchema: Readonly<Record<string, unknown>>;
  /** JSON Schema that the server promises for its structured answers. */
  outputSchema?: Readonly<Record<string, unknown>>;
  repeatable: boolean;
}

type Validate = ReturnType<AjvJsonSchemaValidator['getValidator']>;

const NAME_CHARS_MAX = 64;
const SERVER_CHARS_MAX = 24;
const DIGEST_CHARS = 8;
const DESCRIPTION_CHARS_MAX = 4_000;
const SCHEMA_CHARS_MAX = 100_000;
const FAULT_CHARS_MAX = 500;

const CHOICES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);
const PLAIN_KEY = /^[A-Za-z0-9_.-]{1,64}$/;
const ANY_OBJECT = { type: 'object' } as const;
const optionalText = z.string().optional().catch(undefined);
const optionalFlag = z.boolean().optional().catch(undefined);
const optionalSchema = z.record(z.string(), z.unknown()).optional().catch(undefined);
const toolForm = z.object({
  name: z.string(),
  title: optionalText,
  description: optionalText,
  inputSchema: z.unknown().optional(),
  outputSchema: optionalSchema,
  annotations: z
    .object({ title: optionalText, readOnlyHint: optionalFlag, idempotentHint: optionalFlag })
    .optional()
    .catch(undefined),
  execution: z.object({ taskSupport: optionalText }).optional().catch(undefined),
});

/**
 * Reads one entry of a server's list. Pure; takes any JSON and never throws. `undefined` for what has no name, and for
 * a tool that can only be run as a task, which we do not do.
 */
export function readTool(listed: unknown): McpTool | undefined {
  const read = toolForm.safeParse(listed);
  if (!read.success || read.data.execution?.taskSupport === 'required') return undefined;
  const { name, title, description, inputSchema, outputSchema, annotations } = read.data;
  const words = [description, title, annotations?.title, name].map((text) => cleanText(text ?? ''));
  return {
    name,
    description: clip(words.find((text) => text.trim() !== '') ?? 'A tool.', DESCRIPTION_CHARS_MAX),
    inputSchema: schemaOf(inputSchema),
    ...(outputSchema !== undefined && isSendable(outputSchema) && { outputSchema }),
    repeatable: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
  };
}

/**
 * The name of a server's tool for the model: `server__tool`, or where that is too long, not legal or could be read in
 * two ways, as much of it as fits with a digest of both names. Pure: the name depends on nothing but these two, so that
 * it never comes to mean another tool, whichever servers are there.
 */
export function toolName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  // The first `__` of a plain name ends the server's name, and no plain name looks as if it had a digest.
  const isClear = !/__|_$/.test(server) && server !== '' && tool !== '' && !/_[0-9a-f]{8}$/.test(plain);
  if (isClear && plain.length <= NAME_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(plain)) return plain;
  const digest = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, DIGEST_CHARS);
  const head = `${legal(server).slice(0, SERVER_CHARS_MAX)}__`;
  return `${head}${legal(tool).slice(0, NAME_CHARS_MAX - head.length - DIGEST_CHARS - 1)}_${digest}`;
}

const validators = new WeakMap<McpTool, Validate | undefined>();

/** What is wrong with a structured answer by the tool's own schema, or `undefined`. Never throws. */
export function answerFault(tool: McpTool, answer: unknown): string | undefined {
  const { outputSchema } = tool;
  const structured = (answer as { structuredContent?: unknown } | null | undefined)?.structuredContent;
  if (outputSchema === undefined || structured === undefined) return undefined;
  try {
    // Each tool has a compiler of its own: one for all would mix up schemas of the same `$id`.
    if (!validators.has(tool)) validators.set(tool, new AjvJsonSchemaValidator().getValidator(outputSchema));
    const checked = validators.get(tool)?.(structured);
    return checked?.valid === false ? clip(cleanText(checked.errorMessage), FAULT_CHARS_MAX) : undefined;
  } catch {
    // A schema that cannot be compiled forbids nothing.
    validators.set(tool, undefined);
    return undefined;
  }
}

function legal(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

/** The schema as it is, unless the request to the model would be refused for it. */
function schemaOf(schema: unknown): Readonly<Record<string, unknown>> {
  if (typeof schema !== 'object' || schema === null || !('type' in schema) || schema.type !== 'object') {
    return ANY_OBJECT;
  }
  if (!isSendable(schema)) return ANY_OBJECT;
  // JSON has a lone surrogate as an escape, which the model's side cannot read.
  const clean = /\\u(?:d[89a-f]|0000)/i.test(JSON.stringify(schema)) ? cleanSchema(schema) : { ...schema };
  return withPlainTop(clean);
}

/**
 * The Messages API takes no choice between schemas at the top, and only plain names of properties: one such tool would
 * get every request refused. What is left out is still checked by the server itself.
 */
function withPlainTop(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(schema).filter(([key]) => !CHOICES.has(key));
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'properties' ? plainProperties(value) : value]),
  );
}

function plainProperties(properties: unknown): unknown {
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) return {};
  return Object.fromEntries(Object.entries(properties).filter(([key]) => PLAIN_KEY.test(key)));
}

function isSendable(schema: object): boolean {
  try {
    return JSON.stringify(schema).length <= SCHEMA_CHARS_MAX;
  } catch {
    return false;
  }
}

function cleanSchema(schema: object): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
      if (typeof value === 'string') return cleanText(value);
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), inner]));
    });
  } catch {
    // What is nested too deeply cannot be gone through.
    return ANY_OBJECT;
  }
}
