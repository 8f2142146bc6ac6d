/** The shape of a request (rules 1, 2, 13, 21, 25, 26 and 28) as schemas, and the words in which the API refuses it. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { isObject } from './request.ts';
import { EFFORTS } from './thought.ts';
import { type Violation, type Violations, violation } from './violation.ts';

type Keys = z.core.$ZodLooseShape;

const any = z.unknown().optional();
const some = z.unknown().refine((value) => value !== undefined);

/** Keys that may have any value. */
const optional = (keys: string): Keys => Object.fromEntries(keys.split(' ').map((key) => [key, any]));
/** Keys that must have a value. */
const required = (keys: string): Keys => Object.fromEntries(keys.split(' ').map((key) => [key, some]));

const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const dictionary = z.looseObject({});

/** Objects that their `type` tells apart. A tool without a type is a custom one. */
function tagged(shapes: Readonly<Record<string, Keys>>) {
  const objects = Object.entries(shapes).map(([tag, keys]) => {
    const type = z.literal(tag);
    return z.strictObject({ type: tag === 'custom' ? type.nullish() : type, ...keys });
  });
  return z.discriminatedUnion('type', objects as unknown as [z.ZodObject]);
}

const cache_control = tagged({ ephemeral: { ttl: z.enum(['5m', '1h']).optional() } }).nullish();

/** A citation is written with a `file_id`, and does not come back with it. */
const CITATION = tagged({
  char_location: required('cited_text document_index document_title end_char_index start_char_index'),
  page_location: required('cited_text document_index document_title end_page_number start_page_number'),
  web_search_result_location: required('cited_text encrypted_index title url'),
});

const source = tagged({
  base64: { data: z.string(), media_type: z.string() },
  url: { url: z.string() },
  file: { file_id: z.string() },
  text: { data: z.string(), media_type: z.string() },
});
const TEXT = { text: z.string(), cache_control, citations: any };
const MEDIA = {
  image: { source, cache_control, transformations: any },
  document: { source, cache_control, citations: any, context: any, title: any },
};
const SERVER_CALL = { id: name, name, input: dictionary, cache_control, caller: any };
const SERVER_RESULT = { tool_use_id: name, content: some, cache_control, caller: any };

/** What both sides may write; which side writes what is a rule of its own. */
const BLOCKS = {
  ...MEDIA,
  thinking: { signature: z.string(), thinking: z.string() },
  redacted_thinking: { data: z.string() },
  tool_use: { ...SERVER_CALL, toolset_name: any },
  tool_result: {
    tool_use_id: name,
    cache_control,
    is_error: z.boolean().optional(),
    toolset_name: any,
    content: z.union([z.string(), z.array(tagged({ text: TEXT, ...MEDIA }))]).optional(),
  },
  server_tool_use: SERVER_CALL,
  web_search_tool_result: SERVER_RESULT,
  web_fetch_tool_result: SERVER_RESULT,
  container_upload: { file_id: z.string(), cache_control },
};

const contentOf = (citations: z.ZodType) =>
  z.union([z.string(), z.array(tagged({ text: { ...TEXT, citations: citations.nullish() }, ...BLOCKS }))]);

const MESSAGE = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: contentOf(z.array(z.unknown()).max(0)) }),
  z.strictObject({ role: z.literal('assistant'), content: contentOf(z.array(CITATION)) }),
]);

/** Our own tools, and those versions of the server's tools that the gateway offers. */
const SERVER_TOOL = {
  cache_control,
  ...optional('allowed_callers allowed_domains blocked_domains defer_loading max_uses response_inclusion strict'),
};
const TOOL = tagged({
  custom: {
    name,
    input_schema: some,
    cache_control,
    ...optional('allowed_callers defer_loading description eager_input_streaming input_examples strict'),
  },
  web_search_20260318: { ...SERVER_TOOL, name: z.literal('web_search'), user_location: any },
  web_fetch_20260318: {
    ...SERVER_TOOL,
    name: z.literal('web_fetch'),
    ...optional('citations max_content_tokens url_sources use_cache'),
  },
});

const REQUEST = z.strictObject({
  model: z.string(),
  max_tokens: z.int().min(1),
  messages: z.array(MESSAGE).max(100_000),
  system: z.union([z.string(), z.array(tagged({ text: TEXT }))]).optional(),
  tools: z.array(TOOL).optional(),
  thinking: tagged({ adaptive: { display: z.enum(['summarized', 'omitted']).nullish() } }).optional(),
  tool_choice: tagged({ auto: optional('disable_parallel_tool_use'), none: {} }).optional(),
  output_config: z.strictObject({ effort: z.enum(Object.keys(EFFORTS)).nullish(), format: any }).optional(),
  cache_control,
  ...optional('container diagnostics inference_geo metadata service_tier speed'),
  ...optional('stop_sequences stream'),
});

type Issue = z.core.$ZodIssue;

/** The first thing that is wrong with the shape of a body; without one, the body is a `MessagesRequest`. */
export function* shapeViolations(body: unknown): Violations {
  const issue = REQUEST.safeParse(body).error?.issues[0];
  if (issue !== undefined) yield violationOf(issue, body, issue.path);
}

function violationOf(issue: Issue, body: unknown, path: readonly PropertyKey[]): Violation {
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const firsts = issue.errors.flatMap(([first]) => first ?? []);
    const inner = firsts.find((each) => each.path.length > 0) ?? firsts.at(-1) ?? issue;
    return violationOf(inner, body, [...path, ...inner.path]);
  }
  const value = path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown>)[key], body);
  const isUnknownTag = issue.code === 'invalid_union' && path.at(-1) === 'type' && typeof value === 'string';
  const own = isUnknownTag ? path.slice(0, -1) : path;
  const place = issue.code === 'unrecognized_keys' ? [...own, issue.keys[0] ?? ''] : own;
  const shown = placeIn(body, place).join('.');
  return violation(ruleOf(place, issue), `${shown}${shown && ': '}${wordsOf(issue, place, value)}`);
}

/** The rules of keys, wherever they stand; of all others it is 25. */
const RULES: Record<string, number> = { role: 2, id: 13, name: 13, tool_use_id: 13, input: 13, max_tokens: 21 };

function ruleOf(place: readonly PropertyKey[], { code }: Issue): number {
  const isCitation = place.includes('citations');
  if (code === 'too_big') return isCitation ? 25 : 1;
  if (isCitation) return 28;
  return code === 'unrecognized_keys' ? 25 : (RULES[String(place.at(-1))] ?? 25);
}

/** A path as the API writes it: behind each object that its type tells apart stands that type. */
function placeIn(body: unknown, path: readonly PropertyKey[]): string[] {
  let at = body;
  return path.flatMap((key, index) => {
    at = (at as Record<PropertyKey, unknown>)[key];
    if (index === path.length - 1 || !isObject(at) || 'role' in at) return [String(key)];
    const tag = at.type ?? (path[index - 1] === 'tools' ? 'custom' : undefined);
    return typeof tag === 'string' ? [String(key), tag] : [String(key)];
  });
}

const NOUNS: Record<string, string> = { object: 'dictionary', array: 'list', number: 'integer', int: 'integer' };
const listed = (values: readonly unknown[]): string => values.map((value) => `'${value}'`).join(', ');
const oneOf = (values: readonly unknown[]): string =>
  `Input should be ${[listed(values.slice(0, -1)), listed(values.slice(-1))].filter(Boolean).join(' or ')}`;

function wordsOf(issue: Issue, place: readonly PropertyKey[], value: unknown): string {
  if (issue.code === 'unrecognized_keys') return 'Extra inputs are not permitted';
  if (value === undefined) return 'Field required';
  switch (issue.code) {
    case 'invalid_type':
      return `Input should be a valid ${NOUNS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return oneOf(issue.values);
    case 'invalid_format':
      return `String should match pattern '${String(issue.pattern).slice(1, -1)}'`;
    case 'too_small':
      return `Input should be greater than or equal to ${issue.minimum}`;
    case 'too_big':
      if (place.includes('citations')) return 'citations are not permitted in `user` messages';
      return `List should have at most ${issue.maximum} items after validation, not ${(value as unknown[]).length}`;
    case 'invalid_union': {
      const tags = ('options' in issue ? issue.options : []).filter((each) => typeof each === 'string');
      if (place.at(-1) === 'role') return oneOf(tags);
      return `Input tag '${value}' found using 'type' does not match any of the expected tags: ${listed(tags)}`;
    }
    default:
      return issue.message;
  }
}

const DRAFT = 'https://json-schema.org/draft/2020-12';
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
/** Whether a value is a schema of the draft, whatever draft it claims. Does not follow references. */
const followsDraft = ajv.getSchema(`${DRAFT}/schema`);
const PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Rules 13 and 25 for tools whose shape was checked: their names, their schemas, and what excludes each other. */
export function* toolViolations(tools: readonly Record<string, unknown>[] = []): Violations {
  for (const [index, tool] of tools.entries()) {
    if ('input_schema' in tool) yield* schemaViolations(tool.input_schema, `tools.${index}.custom.input_schema`);
    if (tool.allowed_domains && tool.blocked_domains)
      yield violation(25, `tools.${index}.${tool.type}: Cannot specify both allowed_domains and blocked_domains`);
  }
  if (new Set(tools.map((tool) => tool.name)).size < tools.length)
    yield violation(13, 'tools: Tool names must be unique.');
}

function* schemaViolations(schema: unknown, path: string): Violations {
  if (!isObject(schema)) return yield violation(25, `${path}: Input should be a valid dictionary`);
  if (schema.type === undefined) yield violation(25, `${path}.type: Field required`);
  if (schema.type !== 'object') yield violation(25, `${path}.type: Input should be 'object'`);
  if (schema.oneOf ?? schema.allOf ?? schema.anyOf)
    yield violation(25, `${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  if (followsDraft?.(schema) !== true)
    yield violation(
      25,
      `${path}: JSON schema is invalid. It must match JSON Schema draft 2020-12 (${DRAFT}). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.`,
    );
  const keys = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  if (!keys.every((key) => PROPERTY.test(key)))
    yield violation(25, `${path}.properties: Property keys should match pattern '${PROPERTY.source}'`);
}
