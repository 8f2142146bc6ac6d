import { APIError } from '@anthropic-ai/sdk/core/error';
import { readEvidence, textOf } from '../errors/evidence.ts';
import type { ModelRequest } from '../port.ts';

/** The optional parts of a request. */
export type OptionalFeature = 'effort' | 'cacheLifetime';

/** Older models and proxies reject these, or some forms of them; such a refusal costs nothing. */
const OPTIONAL_FEATURES: readonly { key: OptionalFeature; named: RegExp }[] = [
  { key: 'effort', named: /output_config|\beffort\b/i },
  { key: 'cacheLifetime', named: /cache_control\S{0,40}ttl|\bttl\b/i },
];

/** The optional part of a request that the endpoint refused, by the error that it threw. */
export function refusedFeatures(request: ModelRequest, error: unknown): OptionalFeature[] {
  if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 422)) return [];
  const { message } = error;
  const refused = OPTIONAL_FEATURES.filter(({ key, named }) => request[key] !== undefined && named.test(message));
  return refused.map(({ key }) => key);
}

/** The request without some of its optional features. */
export function without(request: ModelRequest, keys: readonly OptionalFeature[]): ModelRequest {
  const plain = { ...request };
  for (const key of keys) delete plain[key];
  return plain;
}

/** The names that errors give the output that was asked for. */
const ABOUT_OUTPUT = /max (?:new |completion |output )?tokens|(?:output|completion) tokens/;
/** "16000 > 8192, which is the maximum allowed number of output tokens", "supports at most 16384 completion tokens". */
const LIMIT =
  /(?:> ?|<= ?|at most |up to |(?:limit|maximum|max|lower) (?:value )?(?:of|is|than)(?: the)? |(?:less|lower) than or equal to |limit )(\d{3,7})(?![\d.]| ?>)/;
/** The window, a rate and an account have limits of their own. */
const NOT_A_LIMIT = /context|input|prompt|per (?:second|minute|hour|day|week|month)|rate|quota|credit|plan\b|afford/;
const OUTPUT_TOKENS_MIN = 256;

/**
 * The most output that a model gives, where an error says that more was requested. Only a client error counts, and none
 * that is about the window. Pure; never throws, whatever the error is.
 */
export function statedOutputLimit(error: unknown): number | undefined {
  const { status, plain } = readEvidence(error);
  if ((status !== 400 && status !== 422) || !ABOUT_OUTPUT.test(plain) || NOT_A_LIMIT.test(plain)) return undefined;
  const stated = Number(LIMIT.exec(plain)?.[1]);
  return stated >= OUTPUT_TOKENS_MIN ? stated : undefined;
}

const LINK = /https?:\/\/[^\s"'<>)]{1,300}/gi;
/** It is about the conversation, whatever else it names. */
const MESSAGE_PATH = /\bmessages?(?:\.|\[|\/)\d/i;
/** `tools.3.custom.input_schema`, `tools[3]`, `#/tools/3/input_schema`, `toolConfig.tools.3.toolSpec`. */
const TOOL_PATH = /(?<![\w-])tools(?:\.|\[|\/)(\d{1,5})(?!\d)/i;
/** It is about calls and their results, which may be named like a tool. */
const CALLS = /tool[_ ]?(?:use|result|call)/i;
/** Words in quotes that any error in JSON has. */
const FRAME = new Set('type error message code param status details request_id invalid_request_error'.split(' '));
const NAME_CHARACTER = /[\w-]/;
const QUOTES = ['"', "'", '`', '‘', '’', '“', '”', '\\'];

/**
 * The tool that an error of a model's API names, if it names one: by its place in the request's list of tools, or as
 * the only one of these names in its text (an ordinary word counts only in quotes). `toolNames` are those of the
 * request, in its order. Pure; bounded in time, and never throws, whatever the error is.
 */
export function namedTool(error: unknown, toolNames: readonly string[]): string | undefined {
  const text = textOf(error).replace(LINK, ' ');
  if (MESSAGE_PATH.test(text)) return undefined;
  const index = TOOL_PATH.exec(text)?.[1];
  if (index !== undefined) return toolNames[Number(index)];
  if (CALLS.test(text)) return undefined;
  const named = new Set(toolNames.filter((name) => isNamed(text, name)));
  return named.size === 1 ? [...named][0] : undefined;
}

function isNamed(text: string, name: string): boolean {
  if (name === '' || FRAME.has(name)) return false;
  const isWord = /^[A-Za-z]+$/.test(name);
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at + name.length)];
    if (QUOTES.includes(before) && QUOTES.includes(after)) return true;
    if (!isWord && !NAME_CHARACTER.test(before) && !NAME_CHARACTER.test(after)) return true;
  }
  return false;
}
