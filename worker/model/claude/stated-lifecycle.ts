import type Anthropic from '@anthropic-ai/sdk';
import { NotFoundError } from '@anthropic-ai/sdk/core/error';
import { type Lifecycle, readLifecycle } from '../lifecycle.ts';

const LIFECYCLE_TIMEOUT_MS = 10_000;

/**
 * Asks the endpoint where a model is in its life. `undefined` where it does not say: many endpoints lack this call, so a
 * 404 shows nothing. Rejects when it cannot be asked.
 */
export async function askLifecycle(
  client: Anthropic,
  model: string,
  signal?: AbortSignal,
): Promise<Lifecycle | undefined> {
  try {
    const options = { timeout: LIFECYCLE_TIMEOUT_MS, ...(signal && { signal }) };
    return readLifecycle(await client.models.retrieve(model, {}, options));
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}
