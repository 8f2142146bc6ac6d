/**
 * How proxies, guardrails and firewalls in front of the API refuse a text: each with a status, a body and words of its
 * own. None of them says a word that a client could rely on; some say nothing.
 */
import type { Reaction } from './reaction.ts';

/** Where in a request the guilty text stands, as `messages.3.content.0.text`. */
export type Place = string;

const json = (status: number, body: object): Reaction => ({
  do: 'raw',
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const page = (status: number, title: string, text: string): Reaction => ({
  do: 'raw',
  status,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p></body></html>`,
});

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
  invalidData: () =>
    json(400, { type: 'error', error: { type: 'invalid_request_error', message: 'Invalid request data' } }),
  moderation: () =>
    json(403, {
      error: {
        code: 403,
        message: 'Your input was flagged',
        metadata: { reasons: ['violence/graphic'], flagged_input: '...', provider_name: 'Anthropic' },
      },
    }),
  openai: () =>
    json(400, {
      error: {
        message: 'The response was filtered due to the prompt triggering the content management policy.',
        type: null,
        param: 'prompt',
        code: 'content_filter',
        status: 400,
      },
    }),
  litellm: () =>
    json(400, {
      error: { message: "{'error': 'Violated guardrail policy'}", type: 'None', param: 'None', code: '400' },
    }),
  unprocessable: (place: Place) =>
    json(422, { detail: [{ type: 'value_error', loc: ['body', ...place.split('.')], msg: 'Value error' }] }),
  event: (): Reaction => ({
    do: 'errorEvent',
    type: 'invalid_request_error',
    message: 'Output blocked by content filtering policy',
  }),
} as const satisfies Record<string, (place: Place) => Reaction>;

/** The name of one way to refuse. */
export type Guardrail = keyof typeof GUARDRAILS;
