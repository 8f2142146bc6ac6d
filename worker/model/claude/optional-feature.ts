import { APIError } from '@anthropic-ai/sdk/core/error';
import type { ModelRequest } from '../port.ts';

/** What a request can do without. */
export type OptionalFeature = 'effort' | 'cacheLifetime';

/** Older models and proxies reject these, or some forms of them; such a refusal costs nothing. */
const OPTIONAL_FEATURES: readonly { key: OptionalFeature; named: RegExp }[] = [
  { key: 'effort', named: /output_config|\beffort\b/i },
  { key: 'cacheLifetime', named: /cache_control\S{0,40}ttl|\bttl\b/i },
];

/** What of a request the endpoint refused, by what it threw. */
export function refusedFeatures(request: ModelRequest, error: unknown): OptionalFeature[] {
  const refused = OPTIONAL_FEATURES.filter(({ key, named }) => request[key] !== undefined && isRefused(error, named));
  return refused.map(({ key }) => key);
}

function isRefused(error: unknown, named: RegExp): boolean {
  const isClients = error instanceof APIError && (error.status === 400 || error.status === 422);
  return isClients && named.test(error.message);
}

/** The request without some of its optional features. */
export function without(request: ModelRequest, keys: readonly OptionalFeature[]): ModelRequest {
  const { effort, cacheLifetime, ...plain } = request;
  return {
    ...plain,
    ...(effort !== undefined && !keys.includes('effort') && { effort }),
    ...(cacheLifetime !== undefined && !keys.includes('cacheLifetime') && { cacheLifetime }),
  };
}
