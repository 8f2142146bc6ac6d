import type Anthropic from '@anthropic-ai/sdk';
import type { ReachFailpoint } from '../../../shared/base/failpoint.ts';
import type { Lifecycle } from '../../../shared/state/provider/provider.ts';
import type { Model, ModelLimits, ModelRequest, OnText } from '../port.ts';
import { findViolation, type Violation } from '../rules/validate.ts';
import { type Sent, sendCall } from './call.ts';
import {
  askLifecycle,
  askLimits,
  type ClientOptions,
  createTokenCount,
  openClient,
  rememberLimits,
  type StatedWindow,
} from './endpoint.ts';
import { type OptionalFeature, refusedFeatures, statedOutputLimit, without } from './refusal.ts';
import { wireRequest } from './wire-request.ts';

export interface ClaudeOptions extends ClientOptions {
  /** Overrides what the endpoint states, for this one model. */
  statedWindow?: StatedWindow | undefined;
  /** Longest silence on the wire, measured in bytes and not in events; includes the wait for the headers. */
  idleMs: number;
  /** The same for a summary, where it is shorter. Default 30 seconds. */
  summaryIdleMs?: number;
  reach: ReachFailpoint;
  /** Called with each violation of a rule of the API, for which a request is not sent. */
  onInvalid?: (violation: Violation) => void;
  now?: () => number;
}

/** The model behind the Messages API, and what its endpoint says about models. */
export interface Claude extends Model {
  /** Where a model is in its life; `undefined` where the endpoint does not say. Rejects when it cannot be asked. */
  lifecycle(model: string, signal?: AbortSignal): Promise<Lifecycle | undefined>;
}

/**
 * The Messages API over the official SDK: streamed, without the SDK's retries (it would sleep for minutes inside a
 * job), and with a watch on the bytes, since the SDK waits for ever on a stream that falls silent. Undici itself ends a
 * silence of five minutes, so a longer `idleMs` has no effect.
 */
export function createClaude(options: ClaudeOptions): Claude {
  let opened: Promise<Anthropic> | undefined;
  const client = () => (opened ??= openClient(options));
  const limits = rememberLimits(async (model) => askLimits(await client(), model), options.statedWindow, options.now);
  const unwanted = new Map<string, readonly OptionalFeature[]>();
  const outputLimits = new Map<string, number>();
  const isRefusedAgain = noteRefusals();
  const withOutputLimit = (model: string, known: ModelLimits | undefined): Partial<ModelLimits> => {
    const limits = [known?.maxOutputTokens, outputLimits.get(model)].filter((tokens) => tokens !== undefined);
    return { ...known, ...(limits.length > 0 && { maxOutputTokens: Math.min(...limits) }) };
  };
  const sendOnce = async (request: ModelRequest, signal: AbortSignal, onText?: OnText): Promise<Sent> => {
    const known = withOutputLimit(request.model, limits.known(request.model));
    const maxTokens = Math.min(request.maxTokens, known.maxOutputTokens ?? request.maxTokens);
    const wire = wireRequest({ ...request, maxTokens });
    const violation = findViolation(wire, known);
    if (violation === undefined) return sendCall(await client(), wire, { request, options, signal, onText });
    options.onInvalid?.(violation);
    const failure = { kind: 'poison', reason: 'invalid_request', rule: violation.rule } as const;
    return { result: { ok: false, failure } };
  };
  return {
    countTokens: createTokenCount(client, options.now),
    lifecycle: async (model, signal) => askLifecycle(await client(), model, signal),
    async limits(model) {
      const known = await limits.of(model);
      return { ...known, ...withOutputLimit(model, known) };
    },
    async send(request, signal, onText) {
      const asked = without(request, unwanted.get(request.model) ?? []);
      const first = await sendOnce(asked, signal, onText);
      if (first.error === undefined) return first.result;
      const outputLimit = statedOutputLimit(first.error);
      if (outputLimit !== undefined && outputLimit < asked.maxTokens) {
        const within = await sendOnce({ ...asked, maxTokens: outputLimit }, signal, onText);
        if (within.result.ok && isRefusedAgain(`${request.model} ${outputLimit}`))
          outputLimits.set(request.model, outputLimit);
        return within.result;
      }
      const refused = refusedFeatures(asked, first.error);
      if (refused.length === 0) return first.result;
      const second = await sendOnce(without(asked, refused), signal, onText);
      // If it is refused without the option as well, the cause was something else.
      if (second.result.ok && isRefusedAgain(`${request.model} ${refused}`))
        unwanted.set(request.model, [...(unwanted.get(request.model) ?? []), ...refused]);
      return second.result;
    },
  };
}

/** Says whether something was refused before: one odd refusal teaches nothing of a model. */
function noteRefusals(): (what: string) => boolean {
  const before = new Set<string>();
  return (what) => {
    const isAgain = before.has(what);
    before.add(what);
    return isAgain;
  };
}
