import type { Sent } from './channel.ts';
import type { Handover, SecondChannel } from './handover.ts';
import { bodiesOf, type Receiver } from './webhook-body.ts';

/** Where alerts are handed over, and how. */
export interface WebhookPlace extends Receiver {
  /** A secret, as is the key: neither is ever logged. */
  url: string;
  takesPages: boolean;
  /** The first wait after a failure; each further wait doubles, up to five minutes. */
  retryMs: number;
}

/**
 * A tool of others that takes alerts.
 *
 * Contract: `tell` never throws, and ends within 20 seconds. What has an unknown fate counts as not told, so it may be
 * told twice; a tool with keys takes that for the same. While it refuses, it is spared, and nothing is tried.
 */
export interface Webhook extends SecondChannel {
  readonly installation: string;
  tell(handover: Handover): Promise<Sent>;
}

const TIMEOUT_MS = 10_000;
const WAIT_MS_MAX = 300_000;
/** The longest wait that the other side can ask for. */
const RETRY_AFTER_MS_MAX = 900_000;
const ACCEPTED = 202;

/** The channel to what `ALERT_WEBHOOK_URL` names. */
export function webhookChannel(place: WebhookPlace): Webhook {
  const { format, installation, takesPages, retryMs } = place;
  let refusal: { sent: Extract<Sent, { ok: false }>; tries: number; retryAtMs: number } | undefined;
  return {
    ...{ installation, takesPages, hasKeys: format !== 'slack' },
    async tell(handover) {
      const nowMs = performance.now();
      if (refusal && refusal.retryAtMs > nowMs)
        return { ...refusal.sent, isAway: true, retryAfterMs: refusal.retryAtMs - nowMs };
      const sent = await postAll(place, bodiesOf(place, handover));
      refusal = sent.ok ? undefined : refused(sent, refusal?.tries ?? 0);
      return sent;
    },
  };

  function refused(sent: Extract<Sent, { ok: false }>, tries: number): typeof refusal {
    const waitMs = Math.min(retryMs * 2 ** Math.min(tries, 10), WAIT_MS_MAX);
    return { sent, tries: tries + 1, retryAtMs: performance.now() + Math.max(waitMs, sent.retryAfterMs ?? 0) };
  }
}

/** One after the other, up to the first that is not taken. */
async function postAll(place: WebhookPlace, bodies: readonly object[]): Promise<Sent> {
  let sent: Sent = { ok: true };
  for (const body of bodies) if (sent.ok) sent = await post(place, body);
  return sent;
}

/** A redirect is not followed: nobody but who was named gets the key. */
async function post({ url, format, key }: WebhookPlace, body: object): Promise<Sent> {
  try {
    const bearer = format === 'alertmanager' && key !== undefined ? { authorization: `Bearer ${key}` } : undefined;
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const isTaken = format === 'pagerduty' ? response.status === ACCEPTED : response.ok;
    const isPage = await isWebPage(response);
    if (isTaken && !isPage) return { ok: true };
    const waitMs = Math.min(Number(response.headers.get('retry-after')) * 1000, RETRY_AFTER_MS_MAX);
    const why = `status ${response.status}${isPage ? ' with a web page' : ''}`;
    return { ok: false, isGone: false, why, ...(waitMs > 0 && { retryAfterMs: waitMs }) };
  } catch (error) {
    // Only the code: the message may quote the URL.
    const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
    return { ok: false, isGone: false, why: `${name} ${String(cause?.code ?? '')}`.trim() };
  }
}

/** A login page or a proxy's answers anything with success. Slack calls its plain `ok` HTML, so the words decide. */
async function isWebPage(response: Response): Promise<boolean> {
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return /^\s*</.test(Buffer.from(first?.value ?? []).toString());
}
