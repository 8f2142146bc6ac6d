import type Anthropic from '@anthropic-ai/sdk';
import type { ReachFailpoint } from '../../../shared/base/failpoint.ts';
import type { Lifecycle } from '../../../shared/state/provider/provider.ts';
import type { Model, ModelLimits, ModelRequest, OnText } from '../port.ts';
import { findViolation, type Violation } from '../rules/validate.ts';
import { type SendResult, sendCall } from './call.ts';
import {
  askLifecycle,
  askLimits,
  type ClientOptions,
  createTokenCount,
  openClient,
  rememberLimits,
  type StatedWindow,
} from './endpoint.ts';
import { type OptionalFeature, refusedFeatures, statedOutputLimit, withoutFeatures } from './refusal.ts';
import { wireRequest } from './wire-request.ts';

export interface ClaudeOptions extends ClientOptions {
  /** A window that replaces the endpoint's statement for one model. */
  statedWindow?: StatedWindow | undefined;
  /** The longest time without a byte from the endpoint, including the wait for the headers. */
  idleMs: number;
  /** The same limit in a call for a summary, unless `idleMs` is shorter. Default: 30 seconds. */
  summaryIdleMs?: number;
  reach: ReachFailpoint;
  /** Called for each request that is not sent because it breaks a rule of the API. */
  onInvalid?: (violation: Violation) => void;
  now?: () => number;
}

/** The model behind the Messages API, and the lifecycles that its endpoint states. */
export interface Claude extends Model {
  /** The lifecycle of a model; `undefined` if the endpoint states none. Rejects if the endpoint is unavailable. */
  lifecycle(model: string, signal?: AbortSignal): Promise<Lifecycle | undefined>;
}

/**
 * Calls the Messages API through the official SDK: streamed, without the SDK's retries, which would sleep for minutes inside
 * a job, and with a limit on silence, since the SDK has none for a stream. Node's `fetch` aborts after five minutes of silence,
 * so a longer `idleMs` has no effect. If the endpoint refuses an optional feature or the amount of output, `send` makes another
 * call without the feature, or with the limit that the endpoint states.
 */
export function createClaude(options: ClaudeOptions): Claude {
  let clientPromise: Promise<Anthropic> | undefined;
  const client = () => (clientPromise ??= openClient(options));
  const limits = rememberLimits(async (model) => askLimits(await client(), model), options.statedWindow, options.now);
  const rejectedFeatures = new Map<string, readonly OptionalFeature[]>();
  const outputLimits = new Map<string, number>();
  const isSecondRefusal = createRefusalMemory();
  const withOutputLimit = (model: string, modelLimits: ModelLimits | undefined): Partial<ModelLimits> => {
    const maxima = [modelLimits?.maxOutputTokens, outputLimits.get(model)].filter((tokens) => tokens !== undefined);
    return { ...modelLimits, ...(maxima.length > 0 && { maxOutputTokens: Math.min(...maxima) }) };
  };
  const sendOnce = async (request: ModelRequest, signal: AbortSignal, onText?: OnText): Promise<SendResult> => {
    const modelLimits = withOutputLimit(request.model, limits.cached(request.model));
    const maxTokens = Math.min(request.maxTokens, modelLimits.maxOutputTokens ?? request.maxTokens);
    const wire = wireRequest({ ...request, maxTokens });
    const violation = findViolation(wire, modelLimits);
    if (violation === undefined) return sendCall(await client(), wire, { request, options, signal, onText });
    options.onInvalid?.(violation);
    const failure = { kind: 'poison', reason: 'invalid_request', rule: violation.rule } as const;
    return { result: { ok: false, failure } };
  };
  return {
    countTokens: createTokenCount(client, options.now),
    lifecycle: async (model, signal) => askLifecycle(await client(), model, signal),
    async limits(model) {
      const modelLimits = await limits.of(model);
      return { ...modelLimits, ...withOutputLimit(model, modelLimits) };
    },
    async send(request, signal, onText) {
      const acceptable = withoutFeatures(request, rejectedFeatures.get(request.model) ?? []);
      const first = await sendOnce(acceptable, signal, onText);
      if (first.error === undefined) return first.result;
      const outputLimit = statedOutputLimit(first.error);
      if (outputLimit !== undefined && outputLimit < acceptable.maxTokens) {
        const second = await sendOnce({ ...acceptable, maxTokens: outputLimit }, signal, onText);
        if (second.result.ok && isSecondRefusal(`${request.model} ${outputLimit}`))
          outputLimits.set(request.model, outputLimit);
        return second.result;
      }
      const features = refusedFeatures(acceptable, first.error);
      if (features.length === 0) return first.result;
      const second = await sendOnce(withoutFeatures(acceptable, features), signal, onText);
      // If the second call fails, too, the features may not have been the cause.
      if (second.result.ok && isSecondRefusal(`${request.model} ${features}`))
        rejectedFeatures.set(request.model, [...(rejectedFeatures.get(request.model) ?? []), ...features]);
      return second.result;
    },
  };
}

/** Creates a function that returns whether a refusal has occurred before. A single refusal may be a mistake. */
function createRefusalMemory(): (refusal: string) => boolean {
  const refusals = new Set<string>();
  return (refusal) => {
    const isRepeated = refusals.has(refusal);
    refusals.add(refusal);
    return isRepeated;
  };
}
