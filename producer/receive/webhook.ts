import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Route } from '../../shared/app/health.ts';
import { jsonValue } from '../../shared/base/fields.ts';
import { pause, within } from '../../shared/base/lifecycle.ts';
import { type Logger, rareWarning } from '../../shared/base/log.ts';
import { METRIC } from '../../shared/base/telemetry.ts';
import type { AcceptUpdate } from '../accept/accept.ts';
import type { ProducerEnv } from '../env.ts';
import type { WebhookAddress } from './webhook-manager.ts';

/** The maximum size of a delivery's body. Telegram's updates are far smaller. */
const DELIVERY_BYTES_MAX = 1024 * 1024;
/** How long a delivery waits for the write. Far below the minute after which Telegram counts a delivery as failed. */
const ACCEPT_MS_MAX = 5_000;
const RETRY_AFTER_S = 5;
/** The delay of the answer to a wrong secret. */
const WRONG_SECRET_MS = 1_000;
/** The maximum number of delayed answers at a time. Each of them occupies a socket. */
const DELAYED_MAX = 50;
const TOO_MANY_S = 60;

/** The status of an answer to a delivery. Never 410, because Telegram would then remove the webhook. */
type Status = 200 | 400 | 401 | 405 | 413 | 415 | 429 | 503;

/**
 * Serves Telegram's deliveries. 200 says that the update is stored or was ignored on purpose. After any other status Telegram
 * repeats the delivery, for 24 hours. So an authentic update gets 200 even if the gateway has no use for it.
 *
 * Order: Telegram delivers an update of a chat only after we have answered the chat's previous update with 200, and we answer
 * after the write. If the write was too slow and the delivery got 503, the write may still succeed. Telegram then repeats the
 * same update, and `accept.lua` stores that update once, always before Telegram delivers the next one.
 */
export function createWebhook(
  { telemetry, log }: Pick<ProducerEnv, 'telemetry' | 'log'>,
  accept: AcceptUpdate,
  { url, secret }: WebhookAddress,
  acceptMsMax = ACCEPT_MS_MAX,
): Route {
  const isAuthentic = secretMatcher(secret);
  const warnOfStranger = rareWarning(log, 'the webhook was called without its secret');
  const warnOfRefusal = rareWarning(log, 'a delivery of the webhook was not taken');
  const delayStranger = strangerDelay();
  return {
    path: new URL(url).pathname,
    async handle(request, response) {
      const verdict =
        refusalOf(request, isAuthentic) ??
        (await acceptBody(request, (update) => acceptInTime(update, { accept, log, acceptMsMax })));
      const status = verdict === 401 ? await delayStranger() : verdict;
      if (verdict === 401) warnOfStranger();
      else if (status !== 200) warnOfRefusal({ status });
      if (status !== 200) telemetry.count(METRIC.refusedDeliveries, { status });
      answer(response, status);
    },
  };
}

/** The status that refuses a request; `undefined` if none does. Does not read the body, which may come from a stranger. */
function refusalOf({ method, headers }: IncomingMessage, isAuthentic: (secret: string) => boolean): Status | undefined {
  if (method !== 'POST') return 405;
  if (!isAuthentic(String(headers['x-telegram-bot-api-secret-token'] ?? ''))) return 401;
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '') ? undefined : 415;
}

async function acceptBody(request: IncomingMessage, accept: (update: unknown) => Promise<boolean>): Promise<Status> {
  const body = await readBody(request);
  if (body === 'too large') return 413;
  const update = body === 'incomplete' ? undefined : jsonValue(body.toString('utf8'));
  if (update === undefined) return 400;
  return (await accept(update)) ? 200 : 503;
}

/** Reads even an oversized body to its end, so that its sender gets the answer and not a closed connection. */
async function readBody(request: IncomingMessage): Promise<Buffer | 'too large' | 'incomplete'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= DELIVERY_BYTES_MAX) chunks.push(chunk);
      else chunks.length = 0;
    }
  } catch {
    // The sender closed the connection, or took longer than the server allows.
    return 'incomplete';
  }
  return bytes <= DELIVERY_BYTES_MAX ? Buffer.concat(chunks) : 'too large';
}

/** Whether the update was stored or ignored in time. A slower write continues, while Telegram repeats the delivery. */
async function acceptInTime(
  update: unknown,
  { accept, log, acceptMsMax }: { accept: AcceptUpdate; log: Logger; acceptMsMax: number },
): Promise<boolean> {
  const accepted = accept(update).then(
    () => true,
    (error: Error) => {
      log.error({ err: error }, 'a message could not be stored; Telegram delivers it again');
      return false;
    },
  );
  return (await within(accepted, acceptMsMax)) === true;
}

function answer(response: ServerResponse, status: Status): void {
  if (status === 405) response.setHeader('allow', 'POST');
  if (status === 503) response.setHeader('retry-after', RETRY_AFTER_S);
  if (status === 429) response.setHeader('retry-after', TOO_MANY_S);
  // The body of a stranger's request stays unread, so the connection cannot be used again.
  if (status === 401 || status === 429) response.setHeader('connection', 'close');
  response.writeHead(status, { 'content-length': 0 }).end();
}

/** Creates a function that compares a text with the secret, in a time that reveals neither the secret nor its length. */
function secretMatcher(secret: string): (candidate: string) => boolean {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  const expected = digestOf(secret);
  return (candidate) => timingSafeEqual(digestOf(candidate), expected);
}

/**
 * Returns a function that delays the answer to a wrong secret by a second, so that a connection allows one guess a second.
 * While too many answers wait, the function returns 429 at once.
 */
function strangerDelay(): () => Promise<401 | 429> {
  let delayed = 0;
  return async () => {
    if (delayed >= DELAYED_MAX) return 429;
    delayed += 1;
    await pause(WRONG_SECRET_MS);
    delayed -= 1;
    return 401;
  };
}
