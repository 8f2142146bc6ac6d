import type { ModelLimits } from '../../../worker/model/port.ts';
import { costOf } from '../../../worker/model/prices.ts';
import type { Line } from './line.ts';

/** The most that the calls of an expectation take and give, in tokens. */
export interface AtMost {
  calls: number;
  inputTokens: number;
  outputTokens: number;
}

/** Something that we believe of the Messages API, and that the product relies on. */
export interface Expectation {
  name: string;
  /** For all of its calls together; the limits are those that the endpoint states. */
  atMost(limits: ModelLimits): AtMost;
  /** Why it is not asked of this model, if so. */
  skip?(model: string): string | undefined;
  /** Asked for only with this option. */
  option?: 'overflow';
  /** Resolves with what was seen, when it is as believed; rejects with what was seen when it is not. */
  look(line: Line): Promise<string>;
}

/** What became of an expectation. */
export interface Judged {
  name: string;
  verdict: 'ok' | 'differs' | 'not run';
  seen: string;
  /** Whether nothing speaks against it: it is as believed, or does not concern this model. */
  isProven: boolean;
}

/** The endpoint was in trouble, so nothing was learnt of it. */
export class InTrouble extends Error {}

const SEEN_CHARS = 400;

/** Looks at each, one after the other. Never rejects. `tell` hears each verdict at once. */
export async function judgeAll(
  expectations: readonly Expectation[],
  line: Line,
  tell: (judged: Judged) => void = () => {},
): Promise<Judged[]> {
  const all: Judged[] = [];
  for (const expectation of expectations) {
    const judged = await judge(expectation, line);
    tell(judged);
    all.push(judged);
  }
  return all;
}

async function judge({ name, skip, look }: Expectation, line: Line): Promise<Judged> {
  const why = skip?.(line.model);
  if (why !== undefined) return { name, verdict: 'not run', seen: why, isProven: true };
  try {
    return { name, verdict: 'ok', seen: clean(await look(line)), isProven: true };
  } catch (error) {
    const seen = clean(error instanceof Error ? error.message : String(error));
    return { name, verdict: error instanceof InTrouble ? 'not run' : 'differs', seen, isProven: false };
  }
}

const clean = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, SEEN_CHARS);

/**
 * The most that they can cost: as if all input were written to the cache for an hour, and every answer were as long as
 * it may be. `usd` is undefined for a model without a known price.
 */
export function boundOf(
  expectations: readonly Pick<Expectation, 'atMost' | 'skip'>[],
  model: string,
  limits: ModelLimits,
): { calls: number; usd: number | undefined } {
  let bound: { calls: number; usd: number | undefined } = { calls: 0, usd: 0 };
  for (const { atMost, skip } of expectations) {
    if (skip?.(model) !== undefined) continue;
    const { calls, inputTokens, outputTokens } = atMost(limits);
    const writes = { cacheReadTokens: 0, cacheWriteTokens: inputTokens, cacheWrite1hTokens: inputTokens };
    const usd = costOf(model, { inputTokens, outputTokens, ...writes });
    bound = {
      calls: bound.calls + calls,
      usd: usd === undefined || bound.usd === undefined ? undefined : bound.usd + usd,
    };
  }
  return bound;
}
