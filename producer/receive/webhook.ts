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

/** Telegram's own updates are far smaller. */
const DELIVERY_BYTES_MAX = 1024 * 1024;
/** Far below the minute after which Telegram considers a delivery failed, so that it always gets our answer. */
const ACCEPT_MS_MAX = 5_000;
const RETRY_AFTER_S = 5;
/** How long the answer to a wrong secret is held back. */
const WRONG_SECRET_MS = 1_000;
/** Each is a socket. */
const STRANGERS_HELD_MAX = 50;
const TOO_MANY_S = 60;

/** The status of an answer to a delivery. Never 410: it would make Telegram close the webhook. */
type Status = 200 | 400 | 401 | 405 | 413 | 415 | 429 | 503;

/**
 * Takes Telegram's deliveries. 200 says that the update is on the stream or was ignored on purpose; every other status
 * makes Telegram deliver it again, for 24 hours. So an authentic update that is of no use is answered with 200.
 *
 * Order: Telegram delivers an update of a chat only after the previous one was answered with 200, which happens after
 * it was stored. An answer of 503 may be overtaken by the write that it gave up on, in this process or in another one.
 * Then the same update comes again: it is stored once, by whichever write comes first, and always before the next one
 * is delivered.
 */
export function createWebhook(
  { telemetry, log }: Pick<ProducerEnv, 'telemetry' | 'log'>,
  accept: AcceptUpdate,
  { url, secret }: WebhookAddress,
  acceptMsMax = ACCEPT_MS_MAX,
): Route {
  const isAuthentic = secretMatcher(secret);
  const noteStranger = rareWarning(log, 'the webhook was called without its secret');
  const noteRefused = rareWarning(log, 'a delivery of the webhook was not taken');
  const holdBack = delayStrangers();
  return {
    path: new URL(url).pathname,
    async handle(request, response) {
      const found =
        refusalOf(request, isAuthentic) ??
        (await take(request, (update) => acceptInTime(update, { accept, log, acceptMsMax })));
      const status = found === 401 ? await holdBack() : found;
      if (found === 401) noteStranger();
      else if (status !== 200) noteRefused({ status });
      if (status !== 200) telemetry.count(METRIC.refusedDeliveries, { status });
      answer(response, status);
    },
  };
}

/** The checks that need no body; the body of an unauthenticated request is not read. */
function refusalOf({ method, headers }: IncomingMessage, isAuthentic: (secret: string) => boolean): Status | undefined {
  if (method !== 'POST') return 405;
  if (!isAuthentic(String(headers['x-telegram-bot-api-secret-token'] ?? ''))) return 401;
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '') ? undefined : 415;
}

async function take(request: IncomingMessage, accept: (update: unknown) => Promise<boolean>): Promise<Status> {
  const body = await readBody(request);
  if (body === 'too large') return 413;
  const update = body === 'incomplete' ? undefined : jsonValue(body.toString('utf8'));
  if (update === undefined) return 400;
  return (await accept(update)) ? 200 : 503;
}

/** Reads an oversized body to its end and discards it, so that its sender gets the answer and not a dead socket. */
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
    // The sender went away, or took longer than the server allows.
    return 'incomplete';
  }
  return bytes <= DELIVERY_BYTES_MAX ? Buffer.concat(chunks) : 'too large';
}

/**
 * Returns whether the update is dealt with. A write that takes too long continues; the update comes again meanwhile.
 */
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
  // The body of such a request is not read.
  if (status === 401 || status === 429) response.setHeader('connection', 'close');
  response.writeHead(status, { 'content-length': 0 }).end();
}

/** Compares in a time that reveals nothing about the secret, not even its length. */
function secretMatcher(secret: string): (given: string) => boolean {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  const expected = digestOf(secret);
  return (given) => timingSafeEqual(digestOf(given), expected);
}

/**
 * Holds the answer to a wrong secret back for a second; while as many as we hold are held back, the others are told at
 * once that they are too many. So whoever guesses has a guess a second on a connection, and no genuine delivery waits.
 */
function delayStrangers(): () => Promise<401 | 429> {
  let held = 0;
  return async () => {
    if (held >= STRANGERS_HELD_MAX) return 429;
    held += 1;
    await pause(WRONG_SECRET_MS);
    held -= 1;
    return 401;
  };
}
