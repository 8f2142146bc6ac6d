import { fingerprints, type Segment } from './segments.ts';

/** A breakpoint finds an earlier one at most so many blocks before it. */
export const LOOKBACK_BLOCKS = 20;

/** The three input counters of an answer's usage. Their sum is the whole input. */
export interface InputUsage {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

/**
 * The prompt cache: it remembers every prefix that ended at a breakpoint. Entries never expire and have no
 * least size here, so a test sees a miss only where the gateway changed an earlier part of its request.
 */
export class PrefixCache {
  readonly #known = new Set<string>();

  /** Splits the input into read, written and plain tokens, and remembers the breakpoints of this request. */
  account(segments: readonly Segment[], tokens: readonly number[]): InputUsage {
    const total = tokens.at(-1) ?? 0;
    const last = segments.findLastIndex((segment) => segment.breakpoint);
    if (last < 0) return { input_tokens: total, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const prints = fingerprints(segments.slice(0, last + 1));
    const hit = prints.findLastIndex((print, at) => this.#known.has(print) && inReach(segments, at));
    segments.forEach((segment, at) => {
      const print = prints[at];
      if (segment.breakpoint && print !== undefined) this.#known.add(print);
    });
    const read = hit < 0 ? 0 : (tokens[hit] ?? 0);
    const covered = tokens[last] ?? 0;
    return {
      input_tokens: total - covered,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: covered - read,
    };
  }
}

function inReach(segments: readonly Segment[], at: number): boolean {
  return segments.slice(at, at + LOOKBACK_BLOCKS).some((segment) => segment.breakpoint);
}
