/** The tools of a request: our own, and those that run on the server (rules 13 and 25). */

import { checkKeys, checkValue, type Shape, shape, tagged } from './keys.ts';
import { isObject } from './request.ts';
import { checkSchema } from './schemas.ts';
import { firstOf, type Violation, violation } from './violation.ts';

const TOOL = shape(
  'input_schema name',
  'allowed_callers cache_control defer_loading description eager_input_streaming input_examples strict type',
);

const SERVER = 'allowed_callers allowed_domains blocked_domains cache_control defer_loading max_uses strict';
const SEARCH = `${SERVER} user_location`;
const FETCH = `${SERVER} citations max_content_tokens url_sources`;

/** The tools that the web is searched and read with, by version. */
const WEB_TOOLS: Readonly<Record<string, Shape>> = {
  web_search_20250305: tagged('name', SEARCH),
  web_search_20260209: tagged('name', SEARCH),
  web_search_20260318: tagged('name', `${SEARCH} response_inclusion`),
  web_fetch_20250910: tagged('name', FETCH),
  web_fetch_20260209: tagged('name', FETCH),
  web_fetch_20260309: tagged('name', `${FETCH} use_cache`),
  web_fetch_20260318: tagged('name', `${FETCH} response_inclusion use_cache`),
};

/** Other tools that come with the API. Their keys are not judged. */
const OTHER_TOOLS: readonly string[] = [
  'bash_20250124',
  'browser_toolset_20260801',
  'code_execution_20250522',
  'code_execution_20250825',
  'code_execution_20260120',
  'code_execution_20260521',
  'computer_toolset_20260801',
  'memory_20250818',
  'text_editor_20250124',
  'text_editor_20250429',
  'text_editor_20250728',
  'tool_search_tool_bm25_20251119',
  'tool_search_tool_regex_20251119',
];

function checkTool(tool: unknown, index: number): Violation | undefined {
  if (!isObject(tool)) return violation(25, `tools.${index}: Input should be a valid dictionary`);
  const { type = null } = tool;
  if (type !== null && type !== 'custom') return checkServerTool(tool, String(type), `tools.${index}`);
  const path = `tools.${index}.custom`;
  const keys = checkKeys(tool, TOOL, path);
  if (keys !== undefined) return keys;
  return checkSchema(tool.input_schema, `${path}.input_schema`);
}

function checkServerTool(tool: Record<string, unknown>, type: string, path: string): Violation | undefined {
  if (OTHER_TOOLS.includes(type)) {
    return tool.name === undefined ? undefined : checkValue('name', tool.name, `${path}.name`);
  }
  const known = Object.hasOwn(WEB_TOOLS, type) ? WEB_TOOLS[type] : undefined;
  if (known === undefined) {
    const tags = ['custom', ...OTHER_TOOLS, ...Object.keys(WEB_TOOLS)].map((tag) => `'${tag}'`);
    return violation(
      25,
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags.join(', ')}`,
    );
  }
  const keys = checkKeys(tool, known, `${path}.${type}`);
  if (keys !== undefined) return keys;
  const name = type.replace(/_\d+$/, '');
  if (tool.name !== name) return violation(25, `${path}.${type}.name: Input should be '${name}'`);
  return tool.allowed_domains && tool.blocked_domains
    ? violation(25, `${path}.${type}: Cannot specify both allowed_domains and blocked_domains`)
    : undefined;
}

/** The first violation of the tools. */
export function checkTools(tools: unknown): Violation | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools)) return violation(25, 'tools: Input should be a valid list');
  const names = tools.flatMap((tool) => (isObject(tool) && tool.name !== undefined ? [tool.name] : []));
  return (
    firstOf(tools, checkTool) ??
    (new Set(names).size < names.length ? violation(13, 'tools: Tool names must be unique.') : undefined)
  );
}
