/**
 * Strict stand-ins for what takes alerts by a webhook: Slack's incoming webhooks, PagerDuty's Events API v2, a receiver of
 * Alertmanager's webhooks (version 4). Each refuses what is missing, unknown or malformed, and keeps what it was sent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import type { AlertFormat } from '../../shared/base/setting.ts';
import { closeServer, header, listen, readBody, sendJson } from './loopback.ts';
import { News } from './news.ts';

/** What the next request gets instead of its answer; a malformed one is refused all the same. */
export interface Mischief {
  status: number;
  body?: string;
  headers?: Record<string, string>;
  /** The request is taken, and only its answer is not as it should be. */
  isTaken?: true;
}

/** An incident as the tool has it. */
export interface ReceivedIncident {
  key: string;
  isOpen: boolean;
  /** How often it was opened; a repeat while it is open is none. */
  openings: number;
  /** What was sent of it, oldest first. */
  bodies: Body[];
}

type Body = Record<string, unknown>;

/** A running stand-in. */
export interface AlertReceiver {
  /** As `ALERT_WEBHOOK_URL` takes it; its path is a secret. */
  readonly url: string;
  readonly key: string;
  /** The bodies that it took. */
  readonly taken: readonly Body[];
  /** The status of each request, and when it came. */
  readonly requests: readonly { status: number; atMs: number; authorization: string | undefined }[];
  incidents(): ReceivedIncident[];
  fail(mischief: Mischief, times?: number): void;
  heal(): void;
  /** Resolves with the first thing that `look` finds, now or after a request. */
  until<Found>(wanted: string, look: () => Found | undefined): Promise<Found>;
  stop(): Promise<void>;
}

const BYTES_MAX = 512_000;
const WAIT_MS = 15_000;
const ROUTING_KEY = 'e93facc04764012d7bfb002500d5d1a6';
const TOKEN = 'a-bearer-of-the-receiver';
const PATHS = {
  slack: '/services/T0/B0/secret-word',
  pagerduty: '/v2/enqueue',
  alertmanager: '/hooks/secret-word',
} as const;

const words = z.string().min(1);
const link = z.strictObject({ href: z.url({ protocol: /^https?$/ }), text: z.string().optional() });
const event = { routing_key: z.literal(ROUTING_KEY), dedup_key: words.max(255) };
const PAGERDUTY = z.discriminatedUnion('event_action', [
  z.strictObject({
    ...event,
    event_action: z.literal('trigger'),
    client: words.optional(),
    client_url: z.url().optional(),
    payload: z.strictObject({
      summary: words.max(1_024),
      severity: z.enum(['critical', 'error', 'warning', 'info']),
      source: words,
      timestamp: z.iso.datetime({ offset: true }).optional(),
      component: words.optional(),
      group: words.optional(),
      class: words.optional(),
      custom_details: z.record(z.string(), z.unknown()).optional(),
    }),
    links: z.array(link).optional(),
    images: z.array(z.strictObject({ src: z.url() })).optional(),
  }),
  z.strictObject({ ...event, event_action: z.literal('resolve') }),
]);
const labels = z.record(z.string().regex(/^[a-zA-Z_]\w*$/), z.string());
const status = z.enum(['firing', 'resolved']);
const ALERTMANAGER = z.strictObject({
  version: z.literal('4'),
  groupKey: words,
  truncatedAlerts: z.number().int().min(0),
  status,
  receiver: words,
  groupLabels: labels,
  commonLabels: labels,
  commonAnnotations: labels,
  externalURL: z.string(),
  alerts: z
    .array(
      z.strictObject({
        status,
        labels: labels.refine((all) => all.alertname !== undefined),
        annotations: labels,
        startsAt: z.iso.datetime(),
        endsAt: z.iso.datetime(),
        generatorURL: z.string(),
        fingerprint: z.string().regex(/^[\da-f]{16}$/),
      }),
    )
    .min(1),
});
/** In Slack, what stands between < and > is a link, or calls people. */
const SLACK = z.strictObject({ text: words.regex(/^(?:[^<>&]|&(?:lt|gt|amp);)*$/) });
const SCHEMAS = { slack: SLACK, pagerduty: PAGERDUTY, alertmanager: ALERTMANAGER } as const;

class Refusal extends Error {
  readonly status: number;
  constructor(refusalStatus: number, message: string) {
    super(message);
    this.status = refusalStatus;
  }
}

/** Starts a stand-in on loopback. */
export async function startAlertReceiver(format: AlertFormat, waitMs = WAIT_MS): Promise<AlertReceiver> {
  const taken: Body[] = [];
  const requests: { status: number; atMs: number; authorization: string | undefined }[] = [];
  const planned: Mischief[] = [];
  const news = new News();
  const server = createServer(async (request, response) => {
    const call = { status: 0, atMs: performance.now(), authorization: header(request, 'authorization') };
    requests.push(call);
    try {
      const body = await accepted(request, format);
      const mischief = planned.shift();
      if (mischief === undefined || mischief.isTaken) taken.push(body);
      call.status = mischief?.status ?? (format === 'pagerduty' ? 202 : 200);
      answer(response, format, body, mischief);
    } catch (error) {
      call.status = error instanceof Refusal ? error.status : 500;
      sendJson(response, call.status, { status: 'invalid event', message: String(error), errors: [String(error)] });
    }
    news.tell();
  });
  const base = await listen(server);
  const seen = (): string => JSON.stringify({ requests, taken }).slice(0, 2_000);
  return {
    url: `${base}${PATHS[format]}`,
    key: format === 'pagerduty' ? ROUTING_KEY : TOKEN,
    taken,
    requests,
    incidents: () => incidentsIn(taken),
    fail: (mischief, times = 1) => void planned.push(...Array.from({ length: times }, () => mischief)),
    heal: () => void planned.splice(0),
    until: (wanted, look) => news.until(look, waitMs, wanted, seen),
    stop: () => closeServer(server),
  };
}

async function accepted(request: IncomingMessage, format: AlertFormat): Promise<Body> {
  const body = await readBody(request, BYTES_MAX);
  if (request.url !== PATHS[format]) throw new Refusal(404, 'Not found');
  if (request.method !== 'POST') throw new Refusal(405, 'Only POST');
  if (header(request, 'content-type') !== 'application/json') throw new Refusal(415, 'Expected JSON');
  if (body === undefined) throw new Refusal(413, 'Event exceeds size limit of 512 KB');
  const bearer = header(request, 'authorization');
  if (format === 'alertmanager' && bearer !== `Bearer ${TOKEN}`) throw new Refusal(401, 'Unknown bearer');
  if (format !== 'alertmanager' && bearer !== undefined) throw new Refusal(400, 'Nobody asked for a key');
  const parsed = SCHEMAS[format].safeParse(JSON.parse(String(body)));
  if (!parsed.success) throw new Refusal(400, parsed.error.issues.map((issue) => issue.message).join('; '));
  if (format === 'alertmanager') consistent(parsed.data as z.infer<typeof ALERTMANAGER>);
  return parsed.data as Body;
}

/** A group fires while one of its alerts does, and what is common to all is in each. */
function consistent({ status: whole, alerts, commonLabels, groupLabels }: z.infer<typeof ALERTMANAGER>): void {
  const isFiring = alerts.some((alert) => alert.status === 'firing');
  if (whole !== (isFiring ? 'firing' : 'resolved')) throw new Refusal(400, 'The status is not that of the alerts');
  for (const alert of alerts) {
    const common = { ...groupLabels, ...commonLabels };
    if (Object.entries(common).some(([name, value]) => alert.labels[name] !== value))
      throw new Refusal(400, 'A common label is not in each alert');
    const hasEnd = !alert.endsAt.startsWith('0001-');
    if (hasEnd !== (alert.status === 'resolved')) throw new Refusal(400, 'An end belongs to what is resolved');
    if (hasEnd && alert.endsAt < alert.startsAt) throw new Refusal(400, 'It ends before it begins');
  }
}

function answer(response: ServerResponse, format: AlertFormat, body: Body, mischief: Mischief | undefined): void {
  if (mischief !== undefined) response.writeHead(mischief.status, mischief.headers).end(mischief.body ?? '');
  else if (format === 'pagerduty')
    sendJson(response, 202, { status: 'success', message: 'Event processed', dedup_key: body.dedup_key });
  // Slack calls it HTML.
  else response.writeHead(200, { 'content-type': 'text/html' }).end(format === 'slack' ? 'ok' : '');
}

/** As PagerDuty does it: what is not open is not resolved, and what is over opens again. */
function incidentsIn(bodies: readonly Body[]): ReceivedIncident[] {
  const incidents = new Map<string, ReceivedIncident>();
  for (const body of bodies) {
    const key = String(body.dedup_key ?? body.groupKey);
    const isOver = body.event_action === 'resolve' || body.status === 'resolved';
    const before = incidents.get(key) ?? { key, isOpen: false, openings: 0, bodies: [] };
    if (!before.isOpen && isOver) continue;
    const openings = before.openings + (!isOver && !before.isOpen ? 1 : 0);
    incidents.set(key, { key, isOpen: !isOver, openings, bodies: [...before.bodies, body] });
  }
  return [...incidents.values()];
}
