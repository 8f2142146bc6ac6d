/** Rate limits as the API keeps them: a bucket that fills up evenly, and headers that say how full it is. */
import type { ServerResponse } from 'node:http';
import type { Reaction } from './reaction.ts';

/** So many calls, spread over so long. */
export interface Rate {
  requests: number;
  everyMs: number;
}

/** The bucket of one key. */
export class Rates {
  readonly #rate: Rate;
  #left: number;
  #atMs = Date.now();

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#left = rate.requests;
  }

  /** Takes a call in, and states what is left. Answers how many seconds to wait where there is no room. */
  take(response: ServerResponse): number | undefined {
    const { requests, everyMs } = this.#rate;
    const now = Date.now();
    this.#left = Math.min(requests, this.#left + ((now - this.#atMs) / everyMs) * requests);
    this.#atMs = now;
    const isIn = this.#left >= 1;
    if (isIn) this.#left -= 1;
    const fullMs = now + ((requests - this.#left) / requests) * everyMs;
    response.setHeader('anthropic-ratelimit-requests-limit', requests);
    response.setHeader('anthropic-ratelimit-requests-remaining', Math.floor(this.#left));
    response.setHeader('anthropic-ratelimit-requests-reset', new Date(fullMs).toISOString());
    return isIn ? undefined : Math.max(1, Math.ceil(((1 - this.#left) / requests) * (everyMs / 1000)));
  }
}

/** The refusal of a call for which there is no room. */
export function tooMany(waitS: number): Reaction {
  return {
    do: 'error',
    status: 429,
    type: 'rate_limit_error',
    message: 'This request would exceed your rate limit. Please try again later.',
    headers: { 'retry-after': String(waitS) },
  };
}
