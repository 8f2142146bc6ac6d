/** What is refused because of what a request says, whoever sends it and wherever in the request it stands. */
import { GUARDRAILS, type Guardrail, type Place } from './guardrails.ts';
import type { Reaction } from './reaction.ts';
import { isObject } from './request.ts';

/** Texts that the model refuses to answer to, and how. */
export interface RefusedText {
  readonly pattern: RegExp;
  /** Default `general_harms`. */
  readonly category?: string | null;
  /** The models that refuse it. Default: all. */
  readonly models?: RegExp;
  /** What it says before it stops. Default: nothing. */
  readonly said?: string;
}

/** Texts that something in front of the API does not let through, and what it answers. */
export interface RejectedText {
  readonly pattern: RegExp;
  readonly respond: Guardrail | Reaction;
}

/** What a guard looks for. */
export interface GuardOptions {
  /** The model refuses, in a 200, as long as a message matches: history, tool calls and tool results included. */
  refusesText?: RegExp | RefusedText;
  /** The request is rejected as long as its system prompt, a tool or a message matches. */
  rejectsText?: RejectedText;
  /** The schema of a tool is rejected, with its place, when the tool's definition matches. */
  rejectsTool?: RegExp;
}

/** A request that was found guilty. */
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
    const found = UNREAD.has(key) ? undefined : placeOf(each, pattern, `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Looks at the content of requests. Its rules may be set and lifted at any time, by assignment. */
export class Guard implements GuardOptions {
  refusesText?: RegExp | RefusedText;
  rejectsText?: RejectedText;
  rejectsTool?: RegExp;

  constructor({ refusesText, rejectsText, rejectsTool }: GuardOptions) {
    if (refusesText !== undefined) this.refusesText = refusesText;
    if (rejectsText !== undefined) this.rejectsText = rejectsText;
    if (rejectsTool !== undefined) this.rejectsTool = rejectsTool;
  }

  /** Asked in front of the API, which never sees what is found here. */
  rejection(body: Record<string, unknown>): Finding | undefined {
    return this.#rejectedText(body) ?? this.#rejectedTool(body);
  }

  /** Asked in place of an answer to a sound request. */
  refusal({ messages, model }: Record<string, unknown>): Finding | undefined {
    const { refusesText } = this;
    if (refusesText === undefined) return undefined;
    const {
      pattern,
      category = 'general_harms',
      said,
      models,
    } = refusesText instanceof RegExp ? { pattern: refusesText } : refusesText;
    const place = models?.test(String(model)) === false ? undefined : placeOf(messages, pattern, 'messages');
    if (place === undefined) return undefined;
    const content = said === undefined ? [] : [{ type: 'text', text: said }];
    const stopDetails = { category, explanation: null };
    return { place, reaction: { do: 'answer', content, stopReason: 'refusal', stopDetails } };
  }

  #rejectedText(body: Record<string, unknown>): Finding | undefined {
    const { rejectsText } = this;
    if (rejectsText === undefined) return undefined;
    const place = firstPlace(body, rejectsText.pattern);
    if (place === undefined) return undefined;
    const { respond } = rejectsText;
    return { place, reaction: typeof respond === 'string' ? GUARDRAILS[respond](place) : respond };
  }

  #rejectedTool({ tools }: Record<string, unknown>): Finding | undefined {
    const { rejectsTool } = this;
    if (rejectsTool === undefined || !Array.isArray(tools)) return undefined;
    const at = tools.findIndex((tool) => isObject(tool) && placeOf(tool, rejectsTool, 'tool') !== undefined);
    if (at < 0) return undefined;
    const place = `tools.${at}.custom.input_schema`;
    const message = `${place}: The schema is not supported.`;
    return { place, reaction: { do: 'error', status: 400, type: 'invalid_request_error', message } };
  }
}

function firstPlace({ tools, system, messages }: Record<string, unknown>, pattern: RegExp): Place | undefined {
  const parts = Object.entries({ system, tools, messages });
  return parts.map(([name, part]) => placeOf(part, pattern, name)).find((place) => place !== undefined);
}
