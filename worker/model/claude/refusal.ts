import { APIError } from '@anthropic-ai/sdk/core/error';
import { readEvidence, textOf } from '../errors/evidence.ts';
import type { ModelRequest } from '../port.ts';

/** The optional parts of a request. */
export type OptionalFeature = 'effort' | 'cacheLifetime';

/** The optional features, each with the words by which errors name it. Older models and proxies reject some features. */
const OPTIONAL_FEATURES: readonly { key: OptionalFeature; pattern: RegExp }[] = [
  { key: 'effort', pattern: /output_config|\beffort\b/i },
  { key: 'cacheLifetime', pattern: /cache_control\S{0,40}ttl|\bttl\b/i },
];

/** The optional features of a request that the endpoint's error names as refused. */
export function refusedFeatures(request: ModelRequest, error: unknown): OptionalFeature[] {
  if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 422)) return [];
  const { message } = error;
  const features = OPTIONAL_FEATURES.filter(({ key, pattern }) => request[key] !== undefined && pattern.test(message));
  return features.map(({ key }) => key);
}

/** The request without some of its optional features. */
export function withoutFeatures(request: ModelRequest, keys: readonly OptionalFeature[]): ModelRequest {
  const plain = { ...request };
  for (const key of keys) delete plain[key];
  return plain;
}

/** The words by which errors refer to the number of output tokens that a request allows. */
const ABOUT_OUTPUT = /max (?:new |completion |output )?tokens|(?:output|completion) tokens/;
/** The limit in "16000 > 8192, which is the maximum allowed number of output tokens" or "at most 16384 completion tokens". */
const LIMIT =
  /(?:> ?|<= ?|at most |up to |(?:limit|maximum|max|lower) (?:value )?(?:of|is|than)(?: the)? |(?:less|lower) than or equal to |limit )(\d{3,7})(?![\d.]| ?>)/;
/** Words about the limits of a window, a rate or an account. An error with such words states no output limit. */
const NOT_A_LIMIT = /context|input|prompt|per (?:second|minute|hour|day|week|month)|rate|quota|credit|plan\b|afford/;
const OUTPUT_TOKENS_MIN = 256;

/**
 * The output limit of a model, if an error with status 400 or 422 states it because a request asked for more; `undefined` for
 * any other error. Pure; never throws, whatever the error is.
 */
export function statedOutputLimit(error: unknown): number | undefined {
  const { status, plain } = readEvidence(error);
  if ((status !== 400 && status !== 422) || !ABOUT_OUTPUT.test(plain) || NOT_A_LIMIT.test(plain)) return undefined;
  const tokens = Number(LIMIT.exec(plain)?.[1]);
  return tokens >= OUTPUT_TOKENS_MIN ? tokens : undefined;
}

const LINK = /https?:\/\/[^\s"'<>)]{1,300}/gi;
/** A path into the messages. An error with such a path is about the conversation, not about a tool's definition. */
const MESSAGE_PATH = /\bmessages?(?:\.|\[|\/)\d/i;
/** A tool's index: `tools.3.custom.input_schema`, `tools[3]`, `#/tools/3/input_schema`, `toolConfig.tools.3.toolSpec`. */
const TOOL_PATH = /(?<![\w-])tools(?:\.|\[|\/)(\d{1,5})(?!\d)/i;
/** Words about tool calls and results. An error with such words may name a tool, but is not about the tool's definition. */
const CALLS = /tool[_ ]?(?:use|result|call)/i;
/** Words that stand in quotes in any JSON error, and so never count as the name of a tool. */
const FRAME = new Set('type error message code param status details request_id invalid_request_error'.split(' '));
const NAME_CHARACTER = /[\w-]/;
const QUOTES = ['"', "'", '`', '‘', '’', '“', '”', '\\'];

/**
 * The tool whose definition an error of a model's API is about: the tool whose index the error states, or else the only name of
 * `toolNames` (the request's tools, in order) in the error. `undefined` without such a tool, and for an error about messages or
 * calls. A name that is an ordinary word counts only in quotes. Pure; bounded in time, and never throws, whatever the error is.
 */
export function namedTool(error: unknown, toolNames: readonly string[]): string | undefined {
  const text = textOf(error).replace(LINK, ' ');
  if (MESSAGE_PATH.test(text)) return undefined;
  const index = TOOL_PATH.exec(text)?.[1];
  if (index !== undefined) return toolNames[Number(index)];
  if (CALLS.test(text)) return undefined;
  const names = new Set(toolNames.filter((name) => isNamed(text, name)));
  return names.size === 1 ? [...names][0] : undefined;
}

function isNamed(text: string, name: string): boolean {
  if (name === '' || FRAME.has(name)) return false;
  const isWord = /^[A-Za-z]+$/.test(name);
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const [left, right] = [text.charAt(at - 1), text.charAt(at + name.length)];
    if (QUOTES.includes(left) && QUOTES.includes(right)) return true;
    if (!isWord && !NAME_CHARACTER.test(left) && !NAME_CHARACTER.test(right)) return true;
  }
  return false;
}
