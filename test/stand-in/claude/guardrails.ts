/** How proxies and guardrails in front of the API refuse a text. No client can rely on their words; some have none. */
import type { Reaction } from './reaction.ts';

/** Where in a request the guilty text stands, as `messages.3.content.0.text`. */
export type Place = string;

/** An answer of something that is not the API. */
export const raw = (status: number, body: string, type = 'text/plain'): Reaction => {
  return { do: 'raw', status, headers: { 'content-type': type }, body };
};
const json = (status: number, body: object): Reaction => raw(status, JSON.stringify(body), 'application/json');
const page = (status: number, title: string, text: string): Reaction => {
  const html = `<head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p></body>`;
  return raw(status, `<!DOCTYPE html>\n<html>${html}</html>`, 'text/html; charset=utf-8');
};
export function error(status: number, type: string, message: string): Reaction {
  return { do: 'error', status, type, message };
}
/** An error of the API that blames the request. */
export const invalid = (message: string): Reaction => error(400, 'invalid_request_error', message);

const messageIn = (place: Place): string => /^messages\.\d+/.exec(place)?.[0].replace('.', '/') ?? 'system';

/** Every way to refuse a text that is known here, by name: to be iterated over. */
export const GUARDRAILS = {
  bodyless: (): Reaction => ({ do: 'raw', status: 400, headers: { 'content-length': '0' }, body: '' }),
  page400: () => page(400, '400 Bad Request', 'The request could not be satisfied. Request ID: 7c1f0b'),
  page403: () => page(403, 'Access denied', 'This request was blocked by the security rules. Reference #18.2d351ab8'),
  bedrock: (place: Place) =>
    json(400, {
      message: `Malformed input request: #/${messageIn(place)}: subject must not be valid against schema {"required":["messages"]}, please reformat your input and try again.`,
    }),
  invalidData: () => invalid('Invalid request data'),
  moderation: () => {
    const metadata = { reasons: ['violence/graphic'], flagged_input: '...', provider_name: 'Anthropic' };
    return json(403, { error: { code: 403, message: 'Your input was flagged', metadata } });
  },
  openai: () => {
    const message = 'The response was filtered due to the prompt triggering the content management policy.';
    return json(400, { error: { message, type: null, param: 'prompt', code: 'content_filter', status: 400 } });
  },
  litellm: () => {
    const message = "{'error': 'Violated guardrail policy'}";
    return json(400, { error: { message, type: 'None', param: 'None', code: '400' } });
  },
  unprocessable: (place: Place) =>
    json(422, { detail: [{ type: 'value_error', loc: ['body', ...place.split('.')], msg: 'Value error' }] }),
  event: (): Reaction => {
    const message = 'Output blocked by content filtering policy';
    return { do: 'errorEvent', type: 'invalid_request_error', message };
  },
} as const satisfies Record<string, (place: Place) => Reaction>;

export type Guardrail = keyof typeof GUARDRAILS;
