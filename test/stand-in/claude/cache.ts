import { fingerprints, type Segment } from './segments.ts';

/** A breakpoint finds an earlier one at most so many blocks before it. */
const LOOKBACK_BLOCKS = 20;

/** The input counters of an answer's usage. The first three add up to the whole input. */
export interface InputUsage {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  /** What was written, by the lifetime of the entry. */
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
}

/** Remembers every prefix of at least `tokensMin` that ended at a breakpoint; no test outlives an entry. */
export class PrefixCache {
  readonly #entries = new Set<string>();
  readonly #tokensMin: number;

  constructor(tokensMin = 0) {
    this.#tokensMin = tokensMin;
  }

  /** Splits the input into read, written and plain tokens. `tokens`: those up to the end of each segment. */
  account(segments: readonly Segment[], tokens: readonly number[], model = ''): InputUsage {
    const total = tokens.at(-1) ?? 0;
    const keys = fingerprints(segments).map((print) => `${model} ${print}`);
    const ends = segments.flatMap(({ lifetime }, at) => {
      const isKept = lifetime !== undefined && (tokens[at] ?? 0) >= this.#tokensMin;
      return isKept ? [{ at, lifetime }] : [];
    });
    const isInReach = (at: number) => ends.some((end) => end.at >= at && end.at < at + LOOKBACK_BLOCKS);
    const tokensAt = (at: number | undefined): number => tokens[at ?? -1] ?? 0;
    const read = tokensAt(keys.findLastIndex((key, at) => this.#entries.has(key) && isInReach(at)));
    const covered = Math.max(read, tokensAt(ends.at(-1)?.at));
    const hour = Math.max(0, tokensAt(ends.findLast(({ lifetime }) => lifetime === '1h')?.at) - read);
    for (const { at } of ends) this.#entries.add(keys[at] ?? '');
    return {
      input_tokens: total - covered,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: covered - read,
      cache_creation: { ephemeral_5m_input_tokens: covered - read - hour, ephemeral_1h_input_tokens: hour },
    };
  }
}
