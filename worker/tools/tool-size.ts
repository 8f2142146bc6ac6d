import { graphemePrefix } from '../../shared/base/text.ts';
import type { OmittedTool, ToolSpec } from './toolbox.ts';

/** Tools that fit a bound, and what was omitted to fit it. */
export interface BoundedTools<Spec> {
  specs: readonly Spec[];
  omitted: readonly OmittedTool[];
}

/**
 * How much of each request all tools together may take: about 50,000 tokens, a quarter of the smallest window of
 * current models. Some 200 tools of ordinary size fit.
 */
export const TOOLS_CHARS_MAX = 200_000;

/** The lengths to which descriptions are cut, in turn, until all tools fit. The last still says what a tool is for. */
const DESCRIPTION_STEPS = [4_000, 1_000, 300];
const MARKER = '… [description cut]';

/**
 * Keeps the tools that fit `charsMax` characters of serialised definitions. Pure; keeps the order. Long descriptions
 * are cut first, and only as much as needed; then the first tools that fit are kept. Each omitted tool is named. An
 * unchanged tool is the same object.
 */
export function boundTools<Spec extends ToolSpec>(specs: readonly Spec[], charsMax: number): BoundedTools<Spec> {
  let shown = specs;
  for (const step of DESCRIPTION_STEPS) {
    shown = specs.map((spec) => withShortDescription(spec, step));
    if (shown.reduce((sum, spec) => sum + sizeOf(spec), 0) <= charsMax) return { specs: shown, omitted: [] };
  }
  let left = charsMax;
  const kept: Spec[] = [];
  const omitted: OmittedTool[] = [];
  for (const spec of shown) {
    const size = sizeOf(spec);
    if (size <= left) {
      left -= size;
      kept.push(spec);
    } else omitted.push({ tool: spec.name, why: `all tools together would have more than ${charsMax} characters` });
  }
  return { specs: kept, omitted };
}

/** Characters of a definition as it is sent. */
function sizeOf({ name, description, inputSchema }: ToolSpec): number {
  return JSON.stringify({ name, description, input_schema: inputSchema }).length + 1;
}

function withShortDescription<Spec extends ToolSpec>(spec: Spec, charsMax: number): Spec {
  if (spec.description.length <= charsMax) return spec;
  return { ...spec, description: `${graphemePrefix(spec.description, charsMax - MARKER.length)}${MARKER}` };
}
