import type Anthropic from '@anthropic-ai/sdk';

/**
 * Opens the SDK's client: without its retries, which would sleep for minutes inside a job. The SDK is loaded with the
 * first call, so that a start does not wait for it. Rejects when it is not installed.
 */
export async function openClient({ apiKey, baseURL }: { apiKey: string; baseURL: string }): Promise<Anthropic> {
  const { default: Client } = await import('@anthropic-ai/sdk');
  return new Client({ apiKey, baseURL, maxRetries: 0, logLevel: 'off' });
}
