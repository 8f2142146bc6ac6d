/**
 * Strict stand-ins for the second channels: a tool that reads `{"text": …}`, as Slack does, and Alertmanager (API v2). Each
 * refuses what is missing, unknown or malformed, and keeps what it was sent.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { z } from 'zod';
import { closeServer, header, listen, readBody, sendJson } from './loopback.ts';
import { News } from './news.ts';

/** What the next request gets instead of its answer; a malformed one is refused all the same. */
export interface Mischief {
  status: number;
  body?: string;
  headers?: Record<string, string>;
}

/** A running stand-in. */
export interface AlertReceiver<Body = { text: string }> {
  /** As the setting takes it; the path of a webhook is a secret. */
  readonly url: string;
  /** The bodies that it took. */
  readonly taken: readonly Body[];
  /** The status of each request. */
  readonly statuses: readonly number[];
  fail(mischief: Mischief, times?: number): void;
  heal(): void;
  /** Resolves with the first thing that `look` finds, now or after a request. */
  until<Found>(wanted: string, look: () => Found | undefined): Promise<Found>;
  stop(): Promise<void>;
}

const BYTES_MAX = 512_000;
const WAIT_MS = 15_000;

/** In Slack, what stands between < and > is a link, or calls people. */
const TEXT = z.strictObject({ text: z.string().regex(/^(?:[^<>&]|&(?:lt|gt|amp);)+$/) });
const labels = z.record(z.string().regex(/^[a-zA-Z_]\w*$/), z.string().min(1));
const ALERT = z
  .strictObject({
    labels: labels.refine((all) => all.alertname !== undefined),
    annotations: labels,
    startsAt: z.iso.datetime(),
    endsAt: z.iso.datetime().optional(),
    generatorURL: z.url().optional(),
  })
  .refine(({ startsAt, endsAt = startsAt }) => endsAt >= startsAt, 'start time must be before end time');

export type PostedAlert = z.infer<typeof ALERT>;

/** Starts the stand-in of a tool that reads texts, on loopback. */
export function startAlertReceiver(waitMs?: number): Promise<AlertReceiver> {
  return startReceiver(
    { path: '/services/T0/B0/secret-word', urlPath: '/services/T0/B0/secret-word', body: TEXT },
    waitMs,
  );
}

/** Starts a stand-in of Alertmanager on loopback. */
export function startAlertmanagerStandIn(): Promise<AlertReceiver<PostedAlert[]>> {
  return startReceiver({ path: '/am/api/v2/alerts', urlPath: '/am/', body: z.array(ALERT).min(1) });
}

interface Kind<Body> {
  path: string;
  urlPath: string;
  body: z.ZodType<Body>;
}

async function startReceiver<Body>(kind: Kind<Body>, waitMs = WAIT_MS): Promise<AlertReceiver<Body>> {
  const taken: Body[] = [];
  const statuses: number[] = [];
  const planned: Mischief[] = [];
  const news = new News();
  const server = createServer(async (request, response) => {
    const { status, body, why } = await judged(kind, request);
    const mischief = body === undefined ? undefined : planned.shift();
    if (body !== undefined && mischief === undefined) taken.push(body);
    statuses.push(mischief?.status ?? status);
    if (mischief !== undefined) response.writeHead(mischief.status, mischief.headers).end(mischief.body ?? '');
    // Slack calls its `ok` HTML.
    else if (body !== undefined) response.writeHead(200, { 'content-type': 'text/html' }).end('ok');
    else sendJson(response, status, { message: why });
    news.tell();
  });
  const base = await listen(server);
  return {
    ...{ url: `${base}${kind.urlPath}`, taken, statuses },
    fail: (mischief, times = 1) => void planned.push(...Array.from({ length: times }, () => mischief)),
    heal: () => void planned.splice(0),
    until: (wanted, look) =>
      news.until(look, waitMs, wanted, () => JSON.stringify({ statuses, taken }).slice(0, 2_000)),
    stop: () => closeServer(server),
  };
}

async function judged<Body>(
  { path, body }: Kind<Body>,
  request: IncomingMessage,
): Promise<{ status: number; body?: Body; why?: string }> {
  const sent = await readBody(request, BYTES_MAX);
  if (request.url !== path) return { status: 404, why: 'Not found' };
  if (request.method !== 'POST') return { status: 405, why: 'Only POST' };
  if (header(request, 'content-type') !== 'application/json') return { status: 415, why: 'Expected JSON' };
  if (sent === undefined) return { status: 413, why: 'Body exceeds size limit of 512 KB' };
  const parsed = body.safeParse(JSON.parse(String(sent)));
  return parsed.success ? { status: 200, body: parsed.data } : { status: 400, why: parsed.error.message };
}
