/** The shape of a request: which keys exist, where, and with which kind of value (rules 1, 2, 13, 21, 25). */
import { type Breach, breach, firstOf } from './breach.ts';
import { isObject } from './request.ts';
import { checkSchema } from './schemas.ts';

/** The keys of an object: those it must have, and those it may have. */
export interface Shape {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/** A shape from two lists of keys. */
export const shape = (required: string, optional = ''): Shape => ({
  required: required.split(' ').filter(Boolean),
  optional: optional.split(' ').filter(Boolean),
});

/** The shape of something that is told apart by its `type`. */
export const tagged = (required: string, optional = ''): Shape => shape(`type ${required}`, optional);

const SERVER_RESULT = tagged('content tool_use_id', 'cache_control caller');
const TEXT = tagged('text', 'cache_control citations');

const BLOCKS: Readonly<Record<string, Shape>> = {
  text: TEXT,
  image: tagged('source', 'cache_control transformations'),
  document: tagged('source', 'cache_control citations context title'),
  search_result: tagged('content source title', 'cache_control citations'),
  thinking: tagged('signature thinking'),
  redacted_thinking: tagged('data'),
  tool_use: tagged('id input name', 'cache_control caller toolset_name'),
  tool_result: tagged('tool_use_id', 'cache_control content is_error toolset_name'),
  server_tool_use: tagged('id input name', 'cache_control caller'),
  web_search_tool_result: SERVER_RESULT,
  web_fetch_tool_result: SERVER_RESULT,
  code_execution_tool_result: tagged('content tool_use_id', 'cache_control'),
  bash_code_execution_tool_result: tagged('content tool_use_id', 'cache_control'),
  text_editor_code_execution_tool_result: tagged('content tool_use_id', 'cache_control'),
  tool_search_tool_result: tagged('content tool_use_id', 'cache_control'),
  container_upload: tagged('file_id', 'cache_control'),
};

/** What may stand inside a tool_result. */
const NESTED: Readonly<Record<string, Shape>> = {
  text: TEXT,
  image: tagged('source', 'cache_control transformations'),
  document: tagged('source', 'cache_control citations context title'),
  search_result: tagged('content source title', 'cache_control citations'),
  tool_reference: tagged('tool_name', 'cache_control'),
  browser_state: tagged('tabs', 'cache_control state_changes'),
};

const SOURCES: Readonly<Record<string, Shape>> = {
  base64: tagged('data media_type'),
  url: tagged('url'),
  file: tagged('file_id'),
  text: tagged('data media_type'),
  content: tagged('content'),
};

const REQUEST = shape(
  'max_tokens messages model',
  'cache_control container diagnostics inference_geo metadata output_config service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p',
);
const MESSAGE = shape('content role');
const TOOL = shape(
  'input_schema name',
  'allowed_callers cache_control defer_loading description eager_input_streaming input_examples strict type',
);
const CACHE_CONTROL = shape('type', 'ttl');

/** Keys whose value must be a string wherever they stand. */
const STRINGS = new Set([
  'text',
  'thinking',
  'signature',
  'data',
  'media_type',
  'url',
  'file_id',
  'tool_name',
  'model',
]);
const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;
const NAMES = new Set(['id', 'name', 'tool_use_id']);
const MESSAGES_MAX = 100_000;

function checkKeys(value: Record<string, unknown>, { required, optional }: Shape, path: string): Breach | undefined {
  const at = path === '' ? '' : `${path}.`;
  return (
    firstOf(required, (key) =>
      value[key] === undefined ? breach(key === 'max_tokens' ? 21 : 25, `${at}${key}: Field required`) : undefined,
    ) ??
    firstOf(Object.keys(value), (key) =>
      required.includes(key) || optional.includes(key)
        ? undefined
        : breach(25, `${at}${key}: Extra inputs are not permitted`),
    ) ??
    firstOf(Object.entries(value), ([key, each]) => checkValue(key, each, `${at}${key}`))
  );
}

function checkValue(key: string, value: unknown, path: string): Breach | undefined {
  const isText = path === 'model' || (STRINGS.has(key) && path !== key);
  if (isText && typeof value !== 'string') return breach(25, `${path}: Input should be a valid string`);
  if (NAMES.has(key) && !(typeof value === 'string' && NAME_PATTERN.test(value))) {
    return breach(13, `${path}: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`);
  }
  if (key === 'input' && !isObject(value)) return breach(13, `${path}: Input should be a valid dictionary`);
  if (key === 'is_error' && typeof value !== 'boolean') return breach(25, `${path}: Input should be a valid boolean`);
  if (key === 'cache_control' && value !== null) return checkCacheControl(value, path);
  return undefined;
}

function checkCacheControl(value: unknown, path: string): Breach | undefined {
  if (!isObject(value))
    return breach(25, `${path}: Input should be a valid dictionary or object to extract fields from`);
  if (value.type !== 'ephemeral') return breach(25, `${path}.type: Input should be 'ephemeral'`);
  if (value.ttl !== undefined && value.ttl !== '5m' && value.ttl !== '1h') {
    return breach(25, `${path}.ttl: Input should be '5m' or '1h'`);
  }
  return checkKeys(value, CACHE_CONTROL, `${path}.ephemeral`);
}

/** Whether a value is one of the shapes that its `type` tells apart, with no key too few or too many. */
export function checkTagged(value: unknown, shapes: Readonly<Record<string, Shape>>, path: string): Breach | undefined {
  if (!isObject(value)) {
    return breach(25, `${path}: Input should be a valid dictionary or object to extract fields from`);
  }
  const tag = value.type;
  if (typeof tag !== 'string') return breach(25, `${path}.type: Field required`);
  const known = Object.hasOwn(shapes, tag) ? shapes[tag] : undefined;
  if (known === undefined) {
    const tags = Object.keys(shapes).map((name) => `'${name}'`);
    return breach(
      25,
      `${path}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${tags.join(', ')}`,
    );
  }
  return checkKeys(value, known, `${path}.${tag}`);
}

function checkBlock(block: unknown, path: string, shapes = BLOCKS): Breach | undefined {
  const found = checkTagged(block, shapes, path);
  if (found !== undefined || !isObject(block)) return found;
  if (block.type === 'image' || block.type === 'document') {
    return checkTagged(block.source, SOURCES, `${path}.${block.type}.source`);
  }
  if (block.type === 'tool_result' && block.content !== undefined && typeof block.content !== 'string') {
    if (!Array.isArray(block.content)) return breach(25, `${path}.tool_result.content: Input should be a valid list`);
    return firstOf(block.content, (nested, at) => checkBlock(nested, `${path}.tool_result.content.${at}`, NESTED));
  }
  return undefined;
}

function checkMessage(message: unknown, index: number): Breach | undefined {
  const path = `messages.${index}`;
  if (!isObject(message)) return breach(25, `${path}: Input should be a valid dictionary`);
  const keys = checkKeys(message, MESSAGE, path);
  if (keys !== undefined) return keys;
  if (message.role !== 'user' && message.role !== 'assistant') {
    return breach(2, `${path}.role: Input should be 'user' or 'assistant'`);
  }
  if (typeof message.content === 'string') return undefined;
  if (!Array.isArray(message.content)) return breach(25, `${path}.content: Input should be a valid list`);
  return firstOf(message.content, (block, at) => checkBlock(block, `${path}.content.${at}`));
}

function checkTool(tool: unknown, index: number): Breach | undefined {
  if (!isObject(tool)) return breach(25, `tools.${index}: Input should be a valid dictionary`);
  const isCustom = tool.type === undefined || tool.type === null || tool.type === 'custom';
  // A server tool has keys of its own, which are its business; some have no name.
  if (!isCustom) return tool.name === undefined ? undefined : checkValue('name', tool.name, `tools.${index}.name`);
  const path = `tools.${index}.custom`;
  const keys = checkKeys(tool, TOOL, path);
  if (keys !== undefined) return keys;
  return checkSchema(tool.input_schema, `${path}.input_schema`);
}

function checkTools(tools: unknown): Breach | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools)) return breach(25, 'tools: Input should be a valid list');
  const names = tools.flatMap((tool) => (isObject(tool) && tool.name !== undefined ? [tool.name] : []));
  return (
    firstOf(tools, checkTool) ??
    (new Set(names).size < names.length ? breach(13, 'tools: Tool names must be unique.') : undefined)
  );
}

function checkSystem(system: unknown): Breach | undefined {
  if (system === undefined || typeof system === 'string') return undefined;
  if (!Array.isArray(system)) return breach(25, 'system: Input should be a valid list');
  return firstOf(system, (block, at) => checkTagged(block, { text: TEXT }, `system.${at}`));
}

/** The first breach of the request's shape. When there is none, the body is a `MessagesRequest`. */
export function checkShape(body: unknown): Breach | undefined {
  if (!isObject(body)) return breach(25, 'Input should be a valid dictionary or object to extract fields from');
  const { messages } = body;
  return (
    checkKeys(body, REQUEST, '') ??
    checkTools(body.tools) ??
    checkSystem(body.system) ??
    (Array.isArray(messages) ? undefined : breach(25, 'messages: Input should be a valid list')) ??
    (Array.isArray(messages) && messages.length > MESSAGES_MAX
      ? breach(1, `messages: List should have at most ${MESSAGES_MAX} items after validation, not ${messages.length}`)
      : undefined) ??
    firstOf(messages as unknown[], checkMessage)
  );
}
