import { createHash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { clip } from '../../../shared/base/text.ts';
import type { OmittedTool } from '../toolbox.ts';
import { cleanText } from './content.ts';

/** A JSON Schema that is an object. */
export type Schema = Readonly<Record<string, unknown>>;

/** A tool as its server lists it, made valid for the model. */
export interface McpTool {
  /** The server's own name for it, unchanged. */
  name: string;
  description: string;
  /** JSON Schema of the input, an object. */
  inputSchema: Schema;
  repeatable: boolean;
  onlyReads: boolean;
  /** A hash of its name, description, schema and annotations, as the server lists them. */
  definition: string;
}

/** An entry of a list: a tool, or what is wrong with it; nothing for a tool that can only run as a task. */
export type ToolReading = { tool: McpTool } | { omitted: OmittedTool } | undefined;

const DESCRIPTION_CHARS_MAX = 4_000;

const optionalText = z.string().optional().catch(undefined);
const optionalFlag = z.boolean().optional().catch(undefined);
const hints = {
  readOnlyHint: optionalFlag,
  idempotentHint: optionalFlag,
  destructiveHint: optionalFlag,
  openWorldHint: optionalFlag,
};
const toolForm = z.object({
  name: z.string(),
  title: optionalText,
  description: optionalText,
  inputSchema: z.unknown().optional(),
  annotations: z
    .object({ title: optionalText, ...hints })
    .optional()
    .catch(undefined),
  execution: z.object({ taskSupport: optionalText }).optional().catch(undefined),
});

/**
 * Reads one entry of a server's list. Pure; takes any JSON and never throws. Omits tools without a name, and tools for
 * which the model's API would refuse every request. A tool that can only run as a task, which we do not support, is not
 * a fault.
 */
export function readTool(listed: unknown): ToolReading {
  const read = toolForm.safeParse(listed);
  if (!read.success) return { omitted: { tool: '', why: 'it has no name' } };
  const { name, title, description, inputSchema, annotations, execution } = read.data;
  if (execution?.taskSupport === 'required') return undefined;
  const schema = readSchema(inputSchema);
  if (!schema.ok) return { omitted: { tool: name, why: schema.why } };
  const words = [description, title, annotations?.title, name].map((text) => cleanText(text ?? ''));
  const tool = {
    name,
    description: clip(words.find((text) => text.trim() !== '') ?? 'A tool.', DESCRIPTION_CHARS_MAX),
    inputSchema: schema.schema,
    onlyReads: annotations?.readOnlyHint === true,
    repeatable: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
    definition: hashOf([name, title, description, schema.schema, annotations]),
  };
  return { tool };
}

/** The hash of a JSON value, whatever the order of its keys. */
function hashOf(value: unknown): string {
  const inOrder = (_: string, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each;
  return createHash('sha256').update(JSON.stringify(value, inOrder)).digest('hex');
}

/** The result of reading a server's list. */
export interface ToolList {
  tools: readonly McpTool[];
  /** The others, each with what is wrong with it; the last entry stands for those beyond `toolsMax`. */
  omitted: readonly OmittedTool[];
}

/** A schema that the Messages API takes, or the reason why it would refuse it. */
export type SchemaReading = { ok: true; schema: Schema } | { ok: false; why: string };

const CHARS_MAX = 100_000;
/** Levels of JSON. Parsers along the way give up at around 200, and the request adds some levels around the schema. */
const DEPTH_MAX = 100;
const PLACE_CHARS_MAX = 120;

const CHOICES = ['anyOf', 'oneOf', 'allOf'];
const PLAIN_KEY = /^[A-Za-z0-9_.-]{1,64}$/;
/** A lone surrogate or a NUL in JSON, which the model's side cannot read. */
const NO_TEXT = /(?<!\\)(?:\\\\)*\\u(?:d[89a-f]|0000)/i;

const judge = new Ajv2020({ strict: false, logger: false, validateFormats: false });

/**
 * Reads the input schema of a tool as its server lists it. Pure; takes any JSON, never throws, and is bounded in time:
 * nothing of a schema is compiled or run, so no pattern in it can take long. Inputs are judged by the server alone.
 *
 * The Messages API validates schemas against JSON Schema 2020-12. It wants an object at the top, without a choice
 * between schemas there, and only plain property names: one tool that breaks this gets every request refused.
 */
export function readSchema(listed: unknown): SchemaReading {
  if (!isObject(listed)) return refused('its input schema is not an object');
  if (depthOf(listed) > DEPTH_MAX) return refused(`its input schema is nested deeper than ${DEPTH_MAX} levels`);
  const { $schema: _, ...schema } = listed;
  const text = JSON.stringify(schema);
  if (text.length > CHARS_MAX) return refused(`its input schema has ${text.length} characters, and not ${CHARS_MAX}`);
  const fault = NO_TEXT.test(text) ? 'it holds what is no text' : (topFault(schema) ?? draftFault(schema));
  return fault === undefined ? { ok: true, schema } : refused(`its input schema is not valid: ${fault}`);
}

function refused(why: string): SchemaReading {
  return { ok: false, why };
}

/** How many levels of objects and lists there are. Iterative, since the input may have thousands. */
function depthOf(value: object): number {
  let level: unknown[] = [value];
  let depth = 0;
  while (level.length > 0 && depth <= DEPTH_MAX) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    depth += 1;
  }
  return depth;
}

function topFault(schema: Schema): string | undefined {
  if (schema.type !== 'object') return 'its type is not "object"';
  const choice = CHOICES.find((keyword) => keyword in schema);
  if (choice !== undefined) return `a choice (${choice}) at the top, which the model's API does not take`;
  const odd = Object.keys(isObject(schema.properties) ? schema.properties : {}).find((key) => !PLAIN_KEY.test(key));
  if (odd === undefined) return undefined;
  return `a property has a name that the model's API does not take: ${JSON.stringify(clip(odd, PLACE_CHARS_MAX))}`;
}

function draftFault(schema: Schema): string | undefined {
  if (judge.validateSchema(schema) === true) return undefined;
  const [first] = judge.errors ?? [];
  return `${clip(first?.instancePath ?? '', PLACE_CHARS_MAX)} ${first?.message ?? 'is wrong'} (JSON Schema 2020-12)`;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
