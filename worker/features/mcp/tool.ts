import { createHash } from 'node:crypto';
import { ToolSchema } from '@modelcontextprotocol/sdk/types.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { clip } from '../../../shared/base/text.ts';
import type { OmittedTool } from '../../tools/toolbox.ts';
import { cleanText } from './content.ts';

/** A JSON Schema that is an object. */
type Schema = Readonly<Record<string, unknown>>;

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

/** A server's list. */
export interface ServerTools {
  tools: readonly McpTool[];
  /** The tools that the model is not shown. Their names and reasons are a stranger's words. */
  omitted: readonly OmittedTool[];
}

/** The SDK's schema of a tool, without the parts that are not used and may be large. */
const toolForm = ToolSchema.omit({ outputSchema: true, icons: true, _meta: true });
const DESCRIPTION_CHARS_MAX = 4_000;

/**
 * Reads one entry of a server's list: a tool, or what is wrong with it. Pure; takes any JSON and never throws. Omits what
 * is no tool by the protocol, and tools for which the model's API would refuse every request. A tool that can only run as
 * a task, which the gateway does not support, is no fault: the result is `undefined`.
 */
export function readTool(listed: unknown): McpTool | OmittedTool | undefined {
  const given = isObject(listed) ? listed : {};
  const omit = (why: string) => ({ tool: typeof given.name === 'string' ? given.name : '', why });
  const excess = excessOf(given.inputSchema);
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
  // Not the parsed schema: there the keys have another order.
  const { $schema: _, ...inputSchema } = given.inputSchema as Schema;
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

/** The hash of a JSON value, whatever the order of its keys. */
function hashOf(value: unknown): string {
  const inOrder = (_: string, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each;
  return createHash('sha256').update(JSON.stringify(value, inOrder)).digest('hex');
}

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
 * Why the Messages API would refuse a tool for its input schema; `undefined` where it takes it. Pure; bounded in time:
 * nothing of a schema is compiled or run, so no pattern in it can take long. Inputs are judged by the server alone.
 *
 * The Messages API validates schemas against JSON Schema 2020-12. It wants no choice between schemas at the top, and only
 * plain property names: one tool that breaks this gets every request refused.
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

/** Which limit a schema exceeds. To be checked before the schema is parsed, which takes time for every entry. */
function excessOf(schema: unknown): string | undefined {
  if (!isObject(schema)) return undefined;
  if (depthOf(schema) > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`;
  const { length } = JSON.stringify(schema);
  return length > CHARS_MAX ? `has ${length} characters, and not ${CHARS_MAX}` : undefined;
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

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
