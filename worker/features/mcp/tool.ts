import { hash } from 'node:crypto';
import { ToolSchema } from '@modelcontextprotocol/sdk/types.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isFields } from '../../../shared/base/fields.ts';
import { clip } from '../../../shared/base/text.ts';
import type { OmittedTool } from '../../tools/toolbox.ts';
import { cleanText } from './content.ts';

/** A JSON Schema that is an object. */
type Schema = Readonly<Record<string, unknown>>;

/** A tool as its server lists it, made valid for the model. */
export interface McpTool {
  /** The server's own name for the tool, unchanged. */
  name: string;
  description: string;
  /** The JSON Schema of the input. Every input is an object. */
  inputSchema: Schema;
  repeatable: boolean;
  onlyReads: boolean;
  /** A hash of the name, title, description, schema and annotations, as the server lists them. */
  definition: string;
}

/** The tools that a server lists. */
export interface ServerTools {
  tools: readonly McpTool[];
  /** The tools that the model does not get. Names and reasons may quote the server, which is untrusted. */
  omitted: readonly OmittedTool[];
}

/** The SDK's schema of a tool, without the parts that the gateway ignores and that may be large. */
const toolForm = ToolSchema.omit({ outputSchema: true, icons: true, _meta: true });
const DESCRIPTION_CHARS_MAX = 4_000;

/**
 * Reads one entry of a server's list: a tool, or an omitted tool with the reason. Pure; accepts any JSON and never throws.
 * Omits entries that are not tools according to the protocol, and tools for which the model's API would refuse every request.
 * Returns `undefined` for a tool that can only run as a task, which the gateway does not support.
 */
export function readTool(listed: unknown): McpTool | OmittedTool | undefined {
  const entry = isFields(listed) ? listed : {};
  const omit = (why: string) => ({ tool: typeof entry.name === 'string' ? entry.name : '', why });
  const excess = excessOf(entry.inputSchema);
  if (excess !== undefined) return omit(`its input schema ${excess}`);
  const read = toolForm.safeParse(listed);
  if (!read.success) {
    const [fault] = read.error.issues;
    return omit(
      `it is no tool of the protocol: ${clip(fault?.path.join('.') ?? '', PLACE_CHARS_MAX)} ${fault?.message}`,
    );
  }
  const { name, title, description, annotations, execution } = read.data;
  if (execution?.taskSupport === 'required') return undefined;
  // Take the schema as listed, because the parsed schema has its keys in another order.
  const { $schema: _, ...inputSchema } = entry.inputSchema as Schema;
  const fault = schemaFault(inputSchema);
  if (fault !== undefined) return omit(`its input schema ${fault}`);
  const words = [description, title, annotations?.title, name].map((text) => cleanText(text ?? ''));
  return {
    name,
    description: clip(words.find((text) => text.trim() !== '') ?? 'A tool.', DESCRIPTION_CHARS_MAX),
    inputSchema,
    onlyReads: annotations?.readOnlyHint === true,
    repeatable: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
    definition: hashOf([name, title, description, inputSchema, annotations]),
  };
}

/** The hash of a JSON value. The order of keys does not matter. */
function hashOf(value: unknown): string {
  const inOrder = (_: string, each: unknown) =>
    isFields(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each;
  return hash('sha256', JSON.stringify(value, inOrder));
}

const CHARS_MAX = 100_000;
/** The maximum depth of a schema. Some parsers on the way to the model fail at around 200 levels, and the request adds some. */
const DEPTH_MAX = 100;
const PLACE_CHARS_MAX = 120;

const CHOICES = ['anyOf', 'oneOf', 'allOf'];
const PLAIN_KEY = /^[A-Za-z0-9_.-]{1,64}$/;
/** A lone surrogate or a NUL in JSON, which the model's API cannot read. */
const NO_TEXT = /(?<!\\)(?:\\\\)*\\u(?:d[89a-f]|0000)/i;

const judge = new Ajv2020({ strict: false, logger: false, validateFormats: false });

/**
 * Why the Messages API would refuse a tool for its input schema; `undefined` if it accepts the tool. Pure; bounded in time,
 * because it neither compiles nor runs the schema, whose patterns may take long. Only the server checks inputs.
 *
 * The Messages API validates schemas against JSON Schema 2020-12. It accepts no choice between schemas at the top, and only
 * plain property names. One tool that breaks these rules makes the API refuse every request that lists the tool.
 */
function schemaFault(schema: Schema): string | undefined {
  if (NO_TEXT.test(JSON.stringify(schema))) return 'holds what is no text';
  const choice = CHOICES.find((keyword) => keyword in schema);
  if (choice !== undefined) return `has a choice (${choice}) at the top, which the model's API does not take`;
  const odd = Object.keys(schema.properties ?? {}).find((key) => !PLAIN_KEY.test(key));
  if (odd !== undefined)
    return `has a name that the model's API does not take: ${JSON.stringify(clip(odd, PLACE_CHARS_MAX))}`;
  if (judge.validateSchema(schema) === true) return undefined;
  const [first] = judge.errors ?? [];
  const place = clip(first?.instancePath ?? '', PLACE_CHARS_MAX);
  return `is not valid: ${place} ${first?.message ?? 'is wrong'} (JSON Schema 2020-12)`;
}

/** The limit that a schema exceeds, if any. Takes an unparsed schema, because parsing an excessive one takes long. */
function excessOf(schema: unknown): string | undefined {
  if (!isFields(schema)) return undefined;
  if (depthOf(schema) > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`;
  const { length } = JSON.stringify(schema);
  return length > CHARS_MAX ? `has ${length} characters, and not ${CHARS_MAX}` : undefined;
}

/** The number of nested levels of a value, up to `DEPTH_MAX + 1`. Not recursive: a value may have thousands of levels. */
function depthOf(value: object): number {
  let level: unknown[] = [value];
  let depth = 0;
  while (level.length > 0 && depth <= DEPTH_MAX) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    depth += 1;
  }
  return depth;
}
