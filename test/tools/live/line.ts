import Anthropic from '@anthropic-ai/sdk';
import type { Usage } from '../../../shared/state/spending/usage-book.ts';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { Failure } from '../../../worker/model/errors/failure.ts';
import type { ModelAnswer, ModelLimits, ModelRequest } from '../../../worker/model/port.ts';
import { costOf } from '../../../worker/model/prices.ts';
import { InTrouble } from './expectation.ts';
import { openTap, type Tap, type Tapped } from './tap.ts';

/** An endpoint to be looked at. */
export interface Endpoint {
  apiKey: string;
  baseURL: string;
  model: string;
}

/** A call that an expectation makes, as far as it differs from a plain one. */
export type Call = Partial<Omit<ModelRequest, 'model'>> & Pick<ModelRequest, 'messages' | 'maxTokens'>;

/** An answer with what was on the wire. */
export interface Answered {
  answer: ModelAnswer;
  /** How often words were told while the answer was written. */
  told: number;
  wire: Tapped;
}

/** The product's own adapter, pointed at an endpoint through a tap. It adds up what the calls cost. */
export interface Line {
  readonly model: string;
  readonly tap: Tap;
  limits(): Promise<ModelLimits>;
  /** A call that must be answered: rejects with what came instead. */
  answer(call: Call): Promise<Answered>;
  /** A call that must be refused. */
  refusal(call: Call): Promise<Failure>;
  /** What the official client throws for a call past the adapter, which would mend it or try again in another way. */
  thrown(params: Omit<Anthropic.MessageStreamParams, 'model'>): Promise<unknown>;
  /** The calls that were answered, their tokens, and what they cost in dollars: undefined for a model without a known price. */
  spent(): { calls: number; inputTokens: number; outputTokens: number; usd: number | undefined };
  close(): Promise<void>;
}

const CALL_MS = 300_000;
const IDLE_MS = 120_000;

/** Opens a line. Nothing is called yet. */
export async function openLine({ apiKey, baseURL, model }: Endpoint): Promise<Line> {
  const tap = await openTap(baseURL);
  const adapter = createClaude({ apiKey, baseURL: tap.url, idleMs: IDLE_MS, reach: () => {} });
  const client = new Anthropic({ apiKey, baseURL: tap.url, maxRetries: 0, logLevel: 'off' });
  const usages: Usage[] = [];
  const send = async (call: Call) => {
    let told = 0;
    const request: ModelRequest = { model, system: '', caches: true, effort: 'low', ...call };
    const result = await adapter.send(request, AbortSignal.timeout(CALL_MS), () => void told++);
    const spent = result.ok ? result.answer.usage : result.billedUsage;
    if (spent) usages.push(spent);
    return { result, told, wire: tap.calls.at(-1) as Tapped };
  };
  return {
    model,
    tap,
    limits: () => adapter.limits(model),
    async answer(call) {
      const { result, told, wire } = await send(call);
      if (!result.ok) throw refused(result.failure);
      return { answer: result.answer, told, wire };
    },
    async refusal(call) {
      const { result } = await send(call);
      if (result.ok) throw new Error(`it was answered, with ${result.answer.stopReason}`);
      if (result.failure.kind === 'transient') throw refused(result.failure);
      return result.failure;
    },
    thrown: (params) =>
      client.messages
        .stream({ ...params, model })
        .finalMessage()
        .then(
          ({ stop_reason: reason }) => Promise.reject(new Error(`it was answered, with ${reason}`)),
          (error: unknown) => error,
        ),
    spent: () => ({
      calls: usages.length,
      inputTokens: usages.reduce((sum, usage) => sum + usage.inputTokens, 0),
      outputTokens: usages.reduce((sum, usage) => sum + usage.outputTokens, 0),
      usd: sumOf(usages.map((usage) => costOf(model, usage))),
    }),
    close: () => tap.close(),
  };
}

/** Why a call was not answered; trouble of the endpoint proves nothing. */
export function refused(failure: Failure): Error {
  const why = brief(failure);
  return failure.kind === 'transient'
    ? new InTrouble(`the endpoint was in trouble: ${why}`)
    : new Error(`it was refused: ${why}`);
}

/** A failure in a few words; none of them is the provider's. */
export function brief({ kind, reason, status }: Failure): string {
  return `${kind}/${reason}${status === undefined ? '' : ` (${status})`}`;
}

function sumOf(costs: readonly (number | undefined)[]): number | undefined {
  return costs.reduce((sum, cost) => (sum === undefined || cost === undefined ? undefined : sum + cost), 0);
}
