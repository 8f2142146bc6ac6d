/** What stands beside the messages: the model, the system prompt, the tools, the limit of output. */

import { isFields } from '../../../shared/base/fields.ts';
import { fixEach, fixOurs } from './blocks.ts';
import type { Draft, Fix } from './draft.ts';
import type { RequestFacts } from './rules.ts';
import { type Fields, hasNeeded, SYSTEM_SHAPES, TOOL_SHAPE, trimmed } from './shapes.ts';

const OUTPUT_TOKENS_DEFAULT = 4096;

/** `output-tokens`; and `known-shape`, `text-not-blank` and `name-legal` in model, system prompt and tools. */
export const fixTop: Fix = (draft, facts) => {
  fixMaxTokens(draft, facts);
  if (typeof draft.top.model !== 'string') draft.note('known-shape', 'model');
  if (typeof draft.top.system !== 'string')
    fixList(draft, 'system', (block, path) => fixOurs(draft, block, SYSTEM_SHAPES, path));
  const names = new Set<unknown>();
  const { tools, tool_choice } = draft.top;
  fixList(draft, 'tools', (tool, path) => (isFields(tool) ? fixTool(draft, tool, names, path) : draft.drop(path)));
  if (draft.top.tools === tools || !isFields(tool_choice) || tool_choice.name === undefined) return;
  const name = draft.toolNames.nameOf(tool_choice.name);
  if (name !== tool_choice.name && names.has(name)) draft.top.tool_choice = { ...tool_choice, name };
};

/** A limit of less than one token is no wish that could be met, so the usual one stands. */
function fixMaxTokens(draft: Draft, { maxOutputTokens = Number.POSITIVE_INFINITY }: RequestFacts): void {
  const asked = draft.top.max_tokens;
  const isUsable = typeof asked === 'number' && Number.isFinite(asked) && asked >= 1;
  const given = Math.max(1, Math.min(isUsable ? Math.floor(asked) : OUTPUT_TOKENS_DEFAULT, maxOutputTokens));
  if (given === asked) return;
  draft.top.max_tokens = given;
  draft.note('output-tokens', 'max_tokens', 'lowered_output');
}

/** A list of which nothing is left is not sent. */
function fixList(draft: Draft, key: string, fix: (item: unknown, path: string) => unknown): void {
  const items = draft.top[key];
  if (items === undefined) return;
  if (!Array.isArray(items)) draft.drop(key);
  const fixed = Array.isArray(items) ? fixEach(items, key, fix) : [];
  if (fixed === items) return;
  draft.topChanged = true;
  if (fixed.length > 0) draft.top[key] = fixed;
  else delete draft.top[key];
}

/** A tool has one name, here and in its calls. */
function fixTool(draft: Draft, tool: Fields, names: Set<unknown>, path: string): Fields | undefined {
  const isOwn = [undefined, null, 'custom'].includes(tool.type as never);
  const name = isOwn || tool.name !== undefined ? draft.toolNames.nameOf(tool.name) : undefined;
  const isSecond = name !== undefined && names.has(name);
  names.add(name);
  if (name !== tool.name || isSecond) draft.note('name-legal', path, isSecond ? 'dropped_block' : 'well_formed');
  if (isSecond) return undefined;
  const named = name === tool.name ? tool : { ...tool, name };
  if (!isOwn) return named;
  const schema = isFields(named.input_schema) ? named.input_schema : {};
  const known = trimmed(named, TOOL_SHAPE);
  if (known === named && hasNeeded(known, TOOL_SHAPE) && schema.type === 'object') return named;
  draft.note('known-shape', path, 'well_formed');
  return schema.type === 'object' ? known : { ...known, input_schema: { ...schema, type: 'object' } };
}
