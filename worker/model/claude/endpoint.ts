import type Anthropic from '@anthropic-ai/sdk';
import { APIError, NotFoundError } from '@anthropic-ai/sdk/core/error';
import { type Attributes, type Span, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { readLifecycle, windowTokensOf } from '../catalog.ts';
import type { ModelLimits, ModelRequest } from '../port.ts';
import { wireRequest } from './wire-request.ts';

/** The options of the SDK's client. */
export interface ClientOptions {
  readonly apiKey: string;
  readonly baseURL: string;
  /** Whether the SDK exports its own spans. */
  readonly isTraced?: boolean;
}

/**
 * Opens the SDK's client: without its retries, which would sleep for minutes inside a job, and without message texts in
 * its spans, whatever the environment says. Imports the SDK only now, so that the start of the process does not wait for it.
 * Rejects if the SDK is not installed.
 */
export async function openClient({ apiKey, baseURL, isTraced = false }: ClientOptions): Promise<Anthropic> {
  const { default: Client } = await import('@anthropic-ai/sdk');
  const openTelemetry = { traces: isTraced, tracerProvider: SDK_SPANS };
  return new Client({ apiKey, baseURL, maxRetries: 0, logLevel: 'off', openTelemetry });
}

/**
 * Filters the SDK's own spans. The SDK sets gen_ai attributes on all its spans, but viewers show every span with such
 * attributes as a part of a conversation. So only spans that name an operation (not e.g. a count) keep the attributes.
 */
const SDK_SPANS: TracerProvider = {
  getTracer(...about) {
    const tracer = trace.getTracerProvider().getTracer(...about);
    const startSpan: Tracer['startSpan'] = (name, options, ctx) =>
      withFinishReason(tracer.startSpan(name, { ...options, attributes: filterAttributes(options?.attributes) }, ctx));
    return { startSpan, startActiveSpan: tracer.startActiveSpan.bind(tracer) };
  },
};

const FINISH_REASONS = 'gen_ai.response.finish_reasons';

/** Extends a span: once the SDK sets its own stop reason, that reason replaces `error` as the finish reason. */
function withFinishReason(span: Span): Span {
  const set = span.setAttribute.bind(span);
  span.setAttribute = (name, value) => {
    if (name === 'anthropic.message.stop_reason') set(FINISH_REASONS, [String(value)]);
    return set(name, value);
  };
  return span;
}

function filterAttributes(attributes: Attributes = {}): Attributes {
  if (attributes['gen_ai.operation.name'] !== undefined) return { ...attributes, [FINISH_REASONS]: ['error'] };
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !name.startsWith('gen_ai.')));
}

const ASK_TIMEOUT_MS = 10_000;
/** A stated window smaller than this is ignored as a mistake, since it would make every message too long. */
const WINDOW_TOKENS_MIN = 1_000;

/** Asks the endpoint for a model's limits. Implausible and unstated limits are absent. Rejects on any error except a 404. */
export async function askLimits(client: Anthropic, model: string): Promise<Partial<ModelLimits>> {
  const card = await askCard(client, model);
  const windowTokens = atLeast(WINDOW_TOKENS_MIN, card?.max_input_tokens);
  const maxOutputTokens = atLeast(1, card?.max_tokens);
  return { ...(windowTokens && { windowTokens }), ...(maxOutputTokens && { maxOutputTokens }) };
}

function atLeast(min: number, value: number | null | undefined): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= min ? Number(value) : undefined;
}

/**
 * Asks the endpoint for its description of a model. Returns `undefined` for a 404, since many endpoints do not offer this.
 * Contract: rejects on any other error, e.g. if the endpoint is unavailable.
 */
async function askCard(client: Anthropic, model: string, signal?: AbortSignal) {
  try {
    return await client.models.retrieve(model, {}, { timeout: ASK_TIMEOUT_MS, ...(signal && { signal }) });
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Asks the endpoint for the lifecycle of a model. Rejects on an error other than a 404. */
export async function askLifecycle(client: Anthropic, model: string, signal?: AbortSignal) {
  return readLifecycle(await askCard(client, model, signal));
}

const NOT_OFFERED: ReadonlySet<unknown> = new Set([404, 405, 501]);
/** How long an endpoint that offers no count is not asked again. Short enough to notice when the endpoint adds the count. */
const NOT_OFFERED_MS = 3600_000;

/** Creates a function that asks the endpoint for the number of a request's input tokens; see `Model.countTokens`. */
export function createTokenCount(client: () => Promise<Anthropic>, now: () => number = Date.now) {
  let notOfferedUntilMs = 0;
  return async (request: ModelRequest, signal: AbortSignal): Promise<number | undefined> => {
    if (now() < notOfferedUntilMs) return undefined;
    const { max_tokens: _, output_config: __, ...body } = wireRequest({ ...request, caches: true });
    try {
      const { messages } = await client();
      const count = await messages.countTokens(body as Parameters<typeof messages.countTokens>[0], {
        signal,
        timeout: ASK_TIMEOUT_MS,
      });
      return Number.isSafeInteger(count.input_tokens) && count.input_tokens > 0 ? count.input_tokens : undefined;
    } catch (error) {
      if (error instanceof APIError && NOT_OFFERED.has(error.status)) notOfferedUntilMs = now() + NOT_OFFERED_MS;
      return undefined;
    }
  };
}

/** A window that the operator sets for one model, in place of the endpoint's. */
export interface StatedWindow {
  model: string;
  tokens: number;
}

type AskLimits = (model: string) => Promise<Partial<ModelLimits>>;

const ANSWER_CACHE_MS = 24 * 3600_000;
const FAILURE_CACHE_MS = 60_000;

/**
 * Caches the limits of models. If `ask` rejects, the last known limits hold for another minute. If the endpoint states no
 * window, our list of models provides one; `statedWindow` replaces the window of one model. A smaller window than before would
 * force compactions, so this asks the endpoint a second time, and the larger of the two windows counts.
 */
export function rememberLimits(ask: AskLimits, statedWindow: StatedWindow | undefined, now: () => number = Date.now) {
  const cache = new Map<string, { limits: ModelLimits; untilMs: number }>();
  const asking = new Map<string, Promise<ModelLimits>>();
  const learn = async (model: string): Promise<ModelLimits> => {
    const previous = cache.get(model)?.limits ?? { windowTokens: windowTokensOf(model) };
    const answer = await askTwice(ask, model, previous).catch(() => undefined);
    const limits = { windowTokens: windowTokensOf(model), ...(answer ?? previous) };
    if (statedWindow?.model === model) limits.windowTokens = statedWindow.tokens;
    cache.set(model, { limits, untilMs: now() + (answer ? ANSWER_CACHE_MS : FAILURE_CACHE_MS) });
    asking.delete(model);
    return limits;
  };
  return {
    /** The cached limits, even if stale. */
    cached: (model: string): ModelLimits | undefined => cache.get(model)?.limits,
    /** The limits; asks again once the cached limits are stale. Concurrent callers share the answer. Never rejects. */
    async of(model: string): Promise<ModelLimits> {
      const entry = cache.get(model);
      if (entry && now() < entry.untilMs) return entry.limits;
      const answer = asking.get(model) ?? learn(model);
      asking.set(model, answer);
      return answer;
    },
  };
}

async function askTwice(ask: AskLimits, model: string, previous: ModelLimits): Promise<Partial<ModelLimits>> {
  const windowOf = ({ windowTokens }: Partial<ModelLimits>) => windowTokens ?? previous.windowTokens;
  const first = await ask(model);
  if (windowOf(first) >= previous.windowTokens) return first;
  const second = await ask(model);
  return windowOf(second) > windowOf(first) ? second : first;
}
