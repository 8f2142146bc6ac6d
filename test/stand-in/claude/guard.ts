/** What is refused because of what a request says, whoever sends it and wherever in the request it stands. */
import { GUARDRAILS, type Guardrail, invalid, type Place } from './guardrails.ts';
import type { Reaction } from './reaction.ts';

/** What a guard looks for: its rules may be set and lifted at any time. */
export interface GuardOptions {
  /**
   * The model refuses, in a 200, as long as a message matches: history, tool calls and tool results included. `models`:
   * those that refuse it, of all. `said`: what they say before they stop.
   */
  refusesText?: RegExp | { readonly pattern: RegExp; readonly models?: RegExp; readonly said?: string };
  /** Something in front of the API rejects the request as long as its system prompt, a tool or a message matches. */
  rejectsText?: { readonly pattern: RegExp; readonly respond: Guardrail | Reaction };
  /** The schema of a tool is rejected, with its place, when the tool's definition matches. */
  rejectsTool?: RegExp;
}

export interface Finding {
  readonly reaction: Reaction;
  readonly place: Place;
}

/** What no guard reads: pictures, and what is sealed. */
const UNREAD = new Set(['data', 'signature', 'encrypted_content', 'encrypted_index']);

/** Where a text matches first, in the order of the request. Tolerates any value. */
function placeOf(value: unknown, pattern: RegExp, path: string): Place | undefined {
  if (typeof value === 'string') return value.search(pattern) >= 0 ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, each] of Object.entries(value)) {
    const found = UNREAD.has(key) ? undefined : placeOf(each, pattern, path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What stands in front of the API, which never sees what is found here. */
export function findRejection(
  { rejectsText, rejectsTool }: GuardOptions,
  { system, tools, messages }: Record<string, unknown>,
): Finding | undefined {
  const text = rejectsText && placeOf({ system, tools, messages }, rejectsText.pattern, '');
  if (text !== undefined) {
    const respond = rejectsText?.respond ?? 'bodyless';
    return { place: text, reaction: typeof respond === 'string' ? GUARDRAILS[respond](text) : respond };
  }
  const tool = rejectsTool && placeOf({ tools }, rejectsTool, '');
  if (tool === undefined) return undefined;
  const place = `tools.${tool.split('.')[1]}.custom.input_schema`;
  return { place, reaction: invalid(`${place}: The schema is not supported.`) };
}

/** What the model says in place of an answer to a sound request. */
export function findRefusal({ refusesText: rule }: GuardOptions, { messages, model }: Record<string, unknown>) {
  if (rule === undefined) return undefined;
  const { pattern, models, said } = rule instanceof RegExp ? { pattern: rule } : rule;
  const place = models?.test(String(model)) === false ? undefined : placeOf(messages, pattern, 'messages');
  const content = said === undefined ? [] : [{ type: 'text', text: said }];
  const reaction: Reaction = { do: 'answer', content, stopReason: 'refusal' };
  return place === undefined ? undefined : { place, reaction };
}
