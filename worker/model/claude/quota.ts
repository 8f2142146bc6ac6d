import { setTimeout as delay } from 'node:timers/promises';
import type { Failure } from '../errors/failure.ts';

/** One of the provider's rate limits, as a response stated it. It fills up evenly, until `resetMs`. */
interface Stated {
  limit: number;
  remaining: number;
  resetMs: number;
  statedMs: number;
}

/**
 * The limits of one model, as the headers of its responses state them: calls wait for room, in the order in which they
 * came, instead of being refused.
 */
export interface Quota {
  /**
   * Resolves when a call may be made, or with the failure that it would be where that takes too long, or on abort.
   * Contract: never rejects. Every call that may be made must be `ended`.
   */
  pass(signal: AbortSignal): Promise<Failure | undefined>;
  /** Takes what a response states. Anything else than the known headers is ignored. */
  note(headers: Headers): void;
  /** A call that passed has got its response, or never will. */
  ended(): void;
}

/**
 * What a call needs of each: of tokens nobody knows beforehand, as cached ones do not count, so only "none" holds it
 * up.
 */
const KINDS = ['requests', 'input-tokens', 'tokens'] as const;
/** A longer wait would hold a slot for nothing: the message comes back later. */
const WAIT_MS_MAX = 20_000;

const wait = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { signal });

/** A quota of which nothing is known yet. `pause` waits so long, and rejects on abort. */
export function createQuota(now: () => number = Date.now, pause = wait): Quota {
  const stated = new Map<string, Stated>();
  let inFlight = 0;
  let last: Promise<unknown> = Promise.resolve();
  const waitMs = (): number => Math.max(0, ...[...stated.values()].map((each) => untilRoom(each, inFlight, now())));
  const enter = async (signal: AbortSignal): Promise<Failure | undefined> => {
    for (let leftMs = waitMs(); leftMs > 0; leftMs = waitMs()) {
      if (leftMs > WAIT_MS_MAX) return { kind: 'transient', reason: 'rate_limited', retryAfterMs: Math.ceil(leftMs) };
      await pause(Math.ceil(leftMs), signal).catch(() => undefined);
      if (signal.aborted) return { kind: 'transient', reason: 'aborted' };
    }
    inFlight += 1;
    return undefined;
  };
  return {
    pass(signal) {
      const own = last.then(() => enter(signal));
      last = own;
      return own;
    },
    note(headers) {
      for (const kind of KINDS) {
        const read = statedIn(headers, `anthropic-ratelimit-${kind}`, now());
        if (read) stated.set(kind, read);
      }
    },
    ended() {
      inFlight -= 1;
    },
  };
}

/** How long until there is room for one more. Calls in flight may not be counted yet. */
function untilRoom({ limit, remaining, resetMs, statedMs }: Stated, inFlight: number, nowMs: number): number {
  if (nowMs >= resetMs || resetMs <= statedMs) return 0;
  const perMs = (limit - remaining) / (resetMs - statedMs);
  const left = Math.min(limit, remaining + perMs * (nowMs - statedMs)) - Math.min(inFlight, limit - 1);
  return left >= 1 || perMs <= 0 ? 0 : Math.min((1 - left) / perMs, resetMs - nowMs);
}

function statedIn(headers: Headers, name: string, statedMs: number): Stated | undefined {
  const [limit, remaining] = [
    Number(headers.get(`${name}-limit`) ?? ''),
    Number(headers.get(`${name}-remaining`) ?? ''),
  ];
  const resetMs = Date.parse(headers.get(`${name}-reset`) ?? '');
  const isStated = limit > 0 && headers.has(`${name}-remaining`) && remaining >= 0 && !Number.isNaN(resetMs);
  return isStated ? { limit, remaining, resetMs, statedMs } : undefined;
}
