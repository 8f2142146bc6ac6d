import type Anthropic from '@anthropic-ai/sdk';
import { APIError } from '@anthropic-ai/sdk/core/error';
import type { ModelRequest } from '../port.ts';
import { wireRequest } from './wire-request.ts';

const COUNT_TIMEOUT_MS = 10_000;
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
        timeout: COUNT_TIMEOUT_MS,
      });
      return Number.isSafeInteger(counted.input_tokens) && counted.input_tokens > 0 ? counted.input_tokens : undefined;
    } catch (error) {
      if (error instanceof APIError && NOT_OFFERED.has(error.status)) notOfferedUntilMs = now() + NOT_OFFERED_KEEP_MS;
      return undefined;
    }
  };
}
