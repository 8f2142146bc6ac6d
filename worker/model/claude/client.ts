import type Anthropic from '@anthropic-ai/sdk';

/** Where the SDK calls. */
export interface ClientOptions {
  readonly apiKey: string;
  readonly baseURL: string;
  /** Whether the SDK makes spans of its own. It would make them where nobody sees them, too. */
  readonly isTraced?: boolean;
}

/**
 * Opens the SDK's client: without its retries, which would sleep for minutes inside a job, and without words of anybody
 * in its spans, whatever the environment says. The SDK is loaded with the first call, so that a start does not wait for
 * it. Rejects when it is not installed.
 */
export async function openClient({ apiKey, baseURL, isTraced = false }: ClientOptions): Promise<Anthropic> {
  const { default: Client } = await import('@anthropic-ai/sdk');
  return new Client({ apiKey, baseURL, maxRetries: 0, logLevel: 'off', openTelemetry: { traces: isTraced } });
}
