/** The keys of a request that steer the model: how it thinks, how hard, which tools it must use (rules 13, 21 and 25). */

import { checkTagged, type Shape, shape, tagged } from './keys.ts';
import { isObject, type MessagesRequest } from './request.ts';
import { EFFORTS } from './thought.ts';
import { type Grounds, type Violation, violation } from './violation.ts';

const THINKING: Readonly<Record<string, Shape>> = {
  adaptive: tagged('', 'display'),
  enabled: tagged('budget_tokens', 'display'),
  disabled: tagged(''),
  between_tools: tagged(''),
};
const TOOL_CHOICE: Readonly<Record<string, Shape>> = {
  auto: tagged('', 'disable_parallel_tool_use'),
  any: tagged('', 'disable_parallel_tool_use'),
  tool: tagged('name', 'disable_parallel_tool_use'),
  none: tagged(''),
};
const OUTPUT_CONFIG = shape('', 'effort format');

const BUDGET_TOKENS_MIN = 1024;
const DISPLAYS: readonly unknown[] = ['summarized', 'omitted', null, undefined];

/** The defaults of the sampling keys; one that has none may not be set at all. */
const SAMPLING: Readonly<Record<string, unknown>> = { temperature: 1, top_p: 1, top_k: undefined };

const valid = (values: readonly string[]): string =>
  `Input should be ${values
    .slice(0, -1)
    .map((value) => `'${value}'`)
    .join(', ')} or '${values.at(-1)}'`;

function checkEffort({ output_config }: MessagesRequest): Violation | undefined {
  if (output_config === undefined) return undefined;
  if (!isObject(output_config)) return violation(25, 'output_config: Input should be a valid dictionary');
  const unknown = Object.keys(output_config).find((key) => !OUTPUT_CONFIG.optional.includes(key));
  if (unknown !== undefined) return violation(25, `output_config.${unknown}: Extra inputs are not permitted`);
  const { effort } = output_config;
  const isKnown = effort === undefined || effort === null || Object.hasOwn(EFFORTS, String(effort));
  return isKnown ? undefined : violation(25, `output_config.effort: ${valid(Object.keys(EFFORTS))}`);
}

function checkThinking({ thinking, max_tokens }: MessagesRequest): Violation | undefined {
  if (thinking === undefined) return undefined;
  const found = checkTagged(thinking, THINKING, 'thinking');
  if (found !== undefined) return found;
  if (!DISPLAYS.includes(thinking.display)) {
    return violation(25, `thinking.${thinking.type}.display: ${valid(['summarized', 'omitted'])}`);
  }
  const budget = thinking.type === 'enabled' ? Number(thinking.budget_tokens) : Number.POSITIVE_INFINITY;
  if (budget < BUDGET_TOKENS_MIN) {
    return violation(25, 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  }
  return thinking.type === 'enabled' && budget >= max_tokens
    ? violation(21, '`max_tokens` must be greater than `thinking.budget_tokens`.')
    : undefined;
}

function checkToolChoice({ tool_choice, tools }: MessagesRequest): Violation | undefined {
  if (tool_choice === undefined) return undefined;
  const found = checkTagged(tool_choice, TOOL_CHOICE, 'tool_choice');
  if (found !== undefined || !isObject(tool_choice)) return found;
  const given = tools ?? [];
  if (given.length === 0) return violation(25, 'tool_choice: tool_choice may only be specified while providing tools.');
  return tool_choice.type === 'tool' && !given.some(({ name }) => name === tool_choice.name)
    ? violation(13, `Tool '${String(tool_choice.name)}' not found in provided tools`)
    : undefined;
}

/** Older models take other values, too; what is sent to every model must do without. */
function checkSampling(request: MessagesRequest): Violation | undefined {
  const set = Object.keys(SAMPLING).find((key) => request[key] !== undefined && request[key] !== SAMPLING[key]);
  return set === undefined ? undefined : violation(25, `\`${set}\` is deprecated for this model.`);
}

function unsupported(type: string): Violation {
  const use = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
  return violation(25, `"thinking.type.${type}" is not supported for this model. ${use}`);
}

/** What a model that always thinks does not take: a budget, a ban and a forced tool. */
function checkManners(request: MessagesRequest, { thinks }: Grounds): Violation | undefined {
  if (!thinks) return undefined;
  const type = request.thinking?.type;
  if (type === 'enabled' || type === 'disabled') return unsupported(type);
  const choice = isObject(request.tool_choice) ? request.tool_choice.type : undefined;
  return choice === 'any' || choice === 'tool'
    ? violation(
        25,
        `tool_choice: "${choice}" is not supported for this model. Thinking may not be combined with forced tool use.`,
      )
    : undefined;
}

/** The first of the steering keys that is malformed, or that the model does not take. */
export function checkSteering(request: MessagesRequest, grounds: Grounds): Violation | undefined {
  return (
    checkEffort(request) ??
    checkThinking(request) ??
    checkToolChoice(request) ??
    checkSampling(request) ??
    checkManners(request, grounds)
  );
}
