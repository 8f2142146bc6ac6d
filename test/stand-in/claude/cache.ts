import { modelName } from './names.ts';
import type { MessagesRequest } from './request.ts';
import { fingerprints, type Lifetime, type Segment } from './segments.ts';
import { effortOf } from './thought.ts';

/** A breakpoint finds an earlier one at most so many blocks before it. */
export const LOOKBACK_BLOCKS = 20;

/** How long an entry lives after it was last written or read. */
const LIFETIME_MS: Readonly<Record<Lifetime, number>> = { '5m': 5 * 60_000, '1h': 60 * 60_000 };

/** The input counters of an answer's usage. The first three add up to the whole input. */
export interface InputUsage {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  /** What was written, by the lifetime of the entry. */
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
}

/** How a prompt cache is set up. */
export interface CacheOptions {
  /** A shorter prefix is not kept, whatever marks it. Default 0. */
  minTokens?: number;
  /** Milliseconds since the epoch. Default: the system's clock. */
  now?: () => number;
}

/** What else than its own text a prefix depends on: for tools and system prompt, and for messages. */
export interface CacheRooms {
  readonly frame: string;
  readonly messages: string;
}

const NO_ROOMS: CacheRooms = { frame: '', messages: '' };

/**
 * The rooms of a request. Models share nothing, and another effort begins anew; a change of `tool_choice` or of the
 * kind of thinking leaves tools and system prompt in the cache, and nothing of the messages.
 */
export function roomsOf(request: MessagesRequest): CacheRooms {
  const frame = `${modelName(request.model)} ${effortOf(request)}`;
  return {
    frame,
    messages: JSON.stringify([frame, request.tool_choice ?? null, request.thinking?.type ?? 'adaptive']),
  };
}

interface Entry {
  readonly lifetime: Lifetime;
  expiresAt: number;
}

/**
 * The prompt cache: it remembers every prefix that ended at a breakpoint, until its lifetime is over. Reading an
 * entry begins its lifetime anew.
 */
export class PrefixCache {
  readonly #entries = new Map<string, Entry>();
  readonly #minTokens: number;
  readonly #now: () => number;

  constructor({ minTokens = 0, now = Date.now }: CacheOptions = {}) {
    this.#minTokens = minTokens;
    this.#now = now;
  }

  /**
   * Splits the input into read, written and plain tokens, and remembers the breakpoints of this request. `tokens` are
   * those of the prefix up to and including each segment. What was written in one room is not found in another.
   */
  account(segments: readonly Segment[], tokens: readonly number[], rooms: CacheRooms = NO_ROOMS): InputUsage {
    const total = tokens.at(-1) ?? 0;
    const isKept = (at: number): boolean => (tokens[at] ?? 0) >= this.#minTokens;
    const last = segments.findLastIndex(({ breakpoint }, at) => breakpoint && isKept(at));
    if (last < 0) return usageOf(total, 0, 0, 0);
    const prints = fingerprints(segments).slice(0, last + 1);
    const keys = prints.map((print, at) => {
      const isMessage = (segments[at]?.messageIndex ?? -1) >= 0;
      return `${isMessage ? rooms.messages : rooms.frame} ${print}`;
    });
    const hit = keys.findLastIndex((key, at) => this.#finds(key) && inReach(segments, at));
    const read = hit < 0 ? 0 : (tokens[hit] ?? 0);
    const covered = Math.max(read, tokens[last] ?? 0);
    const lastHour = segments.findLastIndex(({ lifetime }, at) => lifetime === '1h' && at <= last && isKept(at));
    const hour = Math.max(0, (tokens[lastHour] ?? 0) - read);
    segments.forEach(({ breakpoint, lifetime }, at) => {
      const key = keys[at];
      if (key !== undefined && breakpoint && isKept(at)) this.#keep(key, lifetime ?? '5m');
    });
    return usageOf(total - covered, read, covered - read - hour, hour);
  }

  /** Whether a prefix is there; being asked for, it lives on. */
  #finds(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAt <= this.#now()) return false;
    entry.expiresAt = this.#now() + LIFETIME_MS[entry.lifetime];
    return true;
  }

  #keep(key: string, lifetime: Lifetime): void {
    const known = this.#entries.get(key);
    const isLive = known !== undefined && known.expiresAt > this.#now();
    const kept = isLive && known.lifetime === '1h' ? '1h' : lifetime;
    this.#entries.set(key, { lifetime: kept, expiresAt: this.#now() + LIFETIME_MS[kept] });
  }
}

function usageOf(plain: number, read: number, written5m: number, written1h: number): InputUsage {
  return {
    input_tokens: plain,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written5m + written1h,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
  };
}

function inReach(segments: readonly Segment[], at: number): boolean {
  return segments.slice(at, at + LOOKBACK_BLOCKS).some((segment) => segment.breakpoint);
}
