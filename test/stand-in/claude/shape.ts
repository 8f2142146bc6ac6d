/** The shape of a request: which keys exist, where, and with which kind of value (rules 1, 2, 13, 21, 25). */

import { checkKeys, checkTagged, type Shape, shape, tagged } from './keys.ts';
import { type Block, isObject } from './request.ts';
import { checkTools } from './tools.ts';
import { firstOf, type Violation, violation } from './violation.ts';

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

/** What the model cites with. A citation is written with a `file_id`, and does not come back with it. */
const CITATIONS: Readonly<Record<string, Shape>> = {
  char_location: tagged('cited_text document_index document_title end_char_index start_char_index'),
  page_location: tagged('cited_text document_index document_title end_page_number start_page_number'),
  content_block_location: tagged('cited_text document_index document_title end_block_index start_block_index'),
  search_result_location: tagged('cited_text end_block_index search_result_index source start_block_index title'),
  web_search_result_location: tagged('cited_text encrypted_index title url'),
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

const MESSAGES_MAX = 100_000;

function checkBlock(block: unknown, path: string, shapes = BLOCKS): Violation | undefined {
  const found = checkTagged(block, shapes, path);
  if (found !== undefined || !isObject(block)) return found;
  if (block.type === 'image' || block.type === 'document') {
    return checkTagged(block.source, SOURCES, `${path}.${block.type}.source`);
  }
  if (block.type === 'tool_result' && block.content !== undefined && typeof block.content !== 'string') {
    if (!Array.isArray(block.content))
      return violation(25, `${path}.tool_result.content: Input should be a valid list`);
    if (block.is_error === true && block.content.some((nested) => isObject(nested) && nested.type !== 'text'))
      return violation(26, `${path}.tool_result: all content must be type "text" if "is_error" is true`);
    return firstOf(block.content, (nested, at) => checkBlock(nested, `${path}.tool_result.content.${at}`, NESTED));
  }
  return undefined;
}

/** Rule 28. */
function checkCitations({ citations }: Block, path: string): Violation | undefined {
  const found = firstOf(Array.isArray(citations) ? citations : [], (citation, at) =>
    checkTagged(citation, CITATIONS, `${path}.text.citations.${at}`),
  );
  return found && { ...found, rule: 28 };
}

function checkMessage(message: unknown, index: number): Violation | undefined {
  const path = `messages.${index}`;
  if (!isObject(message)) return violation(25, `${path}: Input should be a valid dictionary`);
  const keys = checkKeys(message, MESSAGE, path);
  if (keys !== undefined) return keys;
  if (message.role !== 'user' && message.role !== 'assistant') {
    return violation(2, `${path}.role: Input should be 'user' or 'assistant'`);
  }
  if (typeof message.content === 'string') return undefined;
  if (!Array.isArray(message.content)) return violation(25, `${path}.content: Input should be a valid list`);
  return (
    firstOf(message.content, (block, at) => checkBlock(block, `${path}.content.${at}`)) ??
    (message.role === 'user'
      ? undefined
      : firstOf(message.content, (block, at) => checkCitations(block, `${path}.content.${at}`)))
  );
}

function checkSystem(system: unknown): Violation | undefined {
  if (system === undefined || typeof system === 'string') return undefined;
  if (!Array.isArray(system)) return violation(25, 'system: Input should be a valid list');
  return firstOf(system, (block, at) => checkTagged(block, { text: TEXT }, `system.${at}`));
}

/** The first violation of the request's shape. When there is none, the body is a `MessagesRequest`. */
export function checkShape(body: unknown): Violation | undefined {
  if (!isObject(body)) return violation(25, 'Input should be a valid dictionary or object to extract fields from');
  const { messages } = body;
  return (
    checkKeys(body, REQUEST, '') ??
    checkTools(body.tools) ??
    checkSystem(body.system) ??
    (Array.isArray(messages) ? undefined : violation(25, 'messages: Input should be a valid list')) ??
    (Array.isArray(messages) && messages.length > MESSAGES_MAX
      ? violation(
          1,
          `messages: List should have at most ${MESSAGES_MAX} items after validation, not ${messages.length}`,
        )
      : undefined) ??
    firstOf(messages as unknown[], checkMessage)
  );
}
