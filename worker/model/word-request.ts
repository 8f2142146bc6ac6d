import type { ModelRequest } from './port.ts';

/** Enough for a word of most models. */
const WORD_TOKENS = 16;

/** A call of a few tokens: it shows that address, key, credit and model work. Pure. */
export function wordRequest(model: string): ModelRequest {
  const messages = [{ role: 'user' as const, content: 'Say ok.' }];
  return { model, purpose: 'probe', maxTokens: WORD_TOKENS, system: '', messages, caches: false };
}
