import type Anthropic from '@anthropic-ai/sdk';
import { APIError, NotFoundError } from '@anthropic-ai/sdk/core/error';
import { type Attributes, type Span, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { readLifecycle, windowTokensOf } from '../catalog.ts';
import type { ModelLimits, ModelRequest } from '../port.ts';
import { wireRequest } from './wire-request.ts';

/** Where the SDK calls. */
export interface ClientOptions {
  readonly apiKey: string;
  readonly baseURL: string;
  /** Whether the SDK makes spans of its own. It would make them where nobody sees them, too. */
  readonly isTraced?: boolean;
}

/**
 * Opens the SDK's client: without its retries, which would sleep for minutes inside a job, and without words of anybody
 * in its spans, whatever the environment says. The SDK is loaded with the first call, so that a start does not wait for
 * it. Rejects when it is not installed.
 */
export async function openClient({ apiKey, baseURL, isTraced = false }: ClientOptions): Promise<Anthropic> {
  const { default: Client } = await import('@anthropic-ai/sdk');
  const openTelemetry = { traces: isTraced, tracerProvider: SDK_SPANS };
  return new Client({ apiKey, baseURL, maxRetries: 0, logLevel: 'off', openTelemetry });
}

/**
 * Makes the SDK's own spans. It states its provider on each, also where it asks for a window or a count. A viewer takes every
 * span with words of gen_ai for a part of a conversation, and one without an operation for an unknown part: so only the
 * spans that state theirs keep them.
 */
const SDK_SPANS: TracerProvider = {
  getTracer(...about) {
    const tracer = trace.getTracerProvider().getTracer(...about);
    const startSpan: Tracer['startSpan'] = (name, options, ctx) =>
      withFinishReason(tracer.startSpan(name, { ...options, attributes: classified(options?.attributes) }, ctx));
    return { startSpan, startActiveSpan: tracer.startActiveSpan.bind(tracer) };
  },
};

const FINISH_REASONS = 'gen_ai.response.finish_reasons';

/** The SDK states a stop reason under its own name; by the conventions it is `error` until there is one. */
function withFinishReason(span: Span): Span {
  const set = span.setAttribute.bind(span);
  span.setAttribute = (name, value) => {
    if (name === 'anthropic.message.stop_reason') set(FINISH_REASONS, [String(value)]);
    return set(name, value);
  };
  return span;
}

function classified(attributes: Attributes = {}): Attributes {
  if (attributes['gen_ai.operation.name'] !== undefined) return { ...attributes, [FINISH_REASONS]: ['error'] };
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !name.startsWith('gen_ai.')));
}

const ASK_TIMEOUT_MS = 10_000;
/** A smaller window is a mistake of the endpoint, and would make every message too long. */
const WINDOW_TOKENS_MIN = 1_000;

/** Asks the endpoint for the limits of a model; rejects when it cannot be asked. */
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
 * Asks the endpoint for its description of a model. `undefined` for a 404, which shows nothing of the model: many
 * endpoints lack this call. Rejects when the endpoint cannot be asked.
 */
async function askCard(client: Anthropic, model: string, signal?: AbortSignal) {
  try {
    return await client.models.retrieve(model, {}, { timeout: ASK_TIMEOUT_MS, ...(signal && { signal }) });
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Asks the endpoint where a model is in its life. Contract: as `askCard`. */
export async function askLifecycle(client: Anthropic, model: string, signal?: AbortSignal) {
  return readLifecycle(await askCard(client, model, signal));
}

const NOT_OFFERED: ReadonlySet<unknown> = new Set([404, 405, 501]);
/** An endpoint may learn it. */
const NOT_OFFERED_KEEP_MS = 3600_000;

/** Asks the endpoint how many tokens a request has, as long as it offers that. Never rejects. */
export function createTokenCount(client: () => Promise<Anthropic>, now: () => number = Date.now) {
  let notOfferedUntilMs = 0;
  return async (request: ModelRequest, signal: AbortSignal): Promise<number | undefined> => {
    if (now() < notOfferedUntilMs) return undefined;
    const { max_tokens: _, output_config: __, ...body } = wireRequest({ ...request, caches: true });
    try {
      const { messages } = await client();
      const counted = await messages.countTokens(body as Parameters<typeof messages.countTokens>[0], {
        signal,
        timeout: ASK_TIMEOUT_MS,
      });
      return Number.isSafeInteger(counted.input_tokens) && counted.input_tokens > 0 ? counted.input_tokens : undefined;
    } catch (error) {
      if (error instanceof APIError && NOT_OFFERED.has(error.status)) notOfferedUntilMs = now() + NOT_OFFERED_KEEP_MS;
      return undefined;
    }
  };
}

/** A window that the operator states for one model, whatever its endpoint says. */
export interface StatedWindow {
  model: string;
  tokens: number;
}

type AskLimits = (model: string) => Promise<Partial<ModelLimits>>;

const STATED_KEEP_MS = 24 * 3600_000;
const FAILED_KEEP_MS = 60_000;

/**
 * Caches limits. `ask` rejects when the endpoint cannot be asked just now: then the last known limits hold for another
 * minute, or else the table's. The table also supplies whatever is not stated. A window smaller than what is known would
 * cost conversations, so it is asked for twice, and of two different ones the larger holds.
 */
export function rememberLimits(ask: AskLimits, stated: StatedWindow | undefined, now: () => number = Date.now) {
  const kept = new Map<string, { limits: ModelLimits; untilMs: number }>();
  const asking = new Map<string, Promise<ModelLimits>>();
  const learn = async (model: string): Promise<ModelLimits> => {
    const before = kept.get(model)?.limits ?? { windowTokens: windowTokensOf(model) };
    const answer = await askTwice(ask, model, before).catch(() => undefined);
    const limits = { windowTokens: windowTokensOf(model), ...(answer ?? before) };
    if (stated?.model === model) limits.windowTokens = stated.tokens;
    kept.set(model, { limits, untilMs: now() + (answer ? STATED_KEEP_MS : FAILED_KEEP_MS) });
    asking.delete(model);
    return limits;
  };
  return {
    /** The limits that are known without asking, stale or not. */
    known: (model: string): ModelLimits | undefined => kept.get(model)?.limits,
    /** Asks once for as long as the answer is valid; concurrent callers share the answer. Never rejects. */
    async of(model: string): Promise<ModelLimits> {
      const known = kept.get(model);
      if (known && now() < known.untilMs) return known.limits;
      const asked = asking.get(model) ?? learn(model);
      asking.set(model, asked);
      return asked;
    },
  };
}

async function askTwice(ask: AskLimits, model: string, known: ModelLimits): Promise<Partial<ModelLimits>> {
  const windowOf = ({ windowTokens }: Partial<ModelLimits>) => windowTokens ?? known.windowTokens;
  const first = await ask(model);
  if (windowOf(first) >= known.windowTokens) return first;
  const second = await ask(model);
  return windowOf(second) > windowOf(first) ? second : first;
}
