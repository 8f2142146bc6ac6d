import type Anthropic from '@anthropic-ai/sdk';
import { NotFoundError } from '@anthropic-ai/sdk/core/error';
import type { Stated } from '../limits.ts';

const STATED_KEEP_MS = 24 * 3600_000;
const LIMITS_TIMEOUT_MS = 10_000;
/** A smaller window is a mistake of the endpoint, and would make every message too long. */
const WINDOW_TOKENS_MIN = 1_000;

/** Asks the endpoint; rejects when it cannot be asked. Many endpoints lack this call, which counts as an answer. */
export async function askLimits(client: Anthropic, model: string): Promise<Stated> {
  try {
    const info = await client.models.retrieve(model, {}, { timeout: LIMITS_TIMEOUT_MS });
    const [windowTokens, maxOutputTokens] = [
      atLeast(WINDOW_TOKENS_MIN, info.max_input_tokens),
      atLeast(1, info.max_tokens),
    ];
    const limits = { ...(windowTokens && { windowTokens }), ...(maxOutputTokens && { maxOutputTokens }) };
    return { limits, keepMs: STATED_KEEP_MS };
  } catch (error) {
    if (error instanceof NotFoundError) return { limits: {}, keepMs: STATED_KEEP_MS };
    throw error;
  }
}

function atLeast(min: number, value: number | null | undefined): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= min ? Number(value) : undefined;
}
