import type { Sent } from './channel.ts';

/**
 * A second channel: a tool that reads `{"text": …}`, such as Slack, Mattermost or Discord.
 *
 * Contract: `send` never throws, and ends within 10 seconds. A message whose fate is unknown counts as not sent, so it may
 * come twice. After a refusal nothing is sent for a while.
 */
export interface Webhook {
  send(text: string): Promise<Sent>;
}

type Refused = Extract<Sent, { ok: false }>;

const TIMEOUT_MS = 10_000;
const WAIT_MS_MAX = 300_000;
/** The longest wait that the other side can ask for. */
const RETRY_AFTER_MS_MAX = 900_000;

/**
 * The channel to what `ALERT_WEBHOOK_URL` names. `retryMs` is the first wait after a failure; each further wait doubles, up
 * to five minutes.
 */
export function webhookChannel(url: string, retryMs: number): Webhook {
  let refusal: { sent: Refused; tries: number; retryAtMs: number } | undefined;
  return {
    async send(text) {
      const nowMs = performance.now();
      if (refusal && refusal.retryAtMs > nowMs)
        return { ...refusal.sent, isAway: true, retryAfterMs: refusal.retryAtMs - nowMs };
      const sent = await postJson(url, { text: text.replaceAll(/[&<>]/g, (mark) => ESCAPED[mark] ?? mark) });
      refusal = sent.ok ? undefined : refused(sent, refusal?.tries ?? 0);
      return sent;
    },
  };

  function refused(sent: Refused, tries: number): typeof refusal {
    const waitMs = Math.min(retryMs * 2 ** Math.min(tries, 10), WAIT_MS_MAX);
    return { sent, tries: tries + 1, retryAtMs: performance.now() + Math.max(waitMs, sent.retryAfterMs ?? 0) };
  }
}

/** Between < and > Slack reads a link, or whom to call. */
const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Posts a body. A redirect is not followed, and the failure never quotes the URL, which is a secret. Never throws. */
export async function postJson(url: string, body: unknown, stopping?: AbortSignal): Promise<Sent> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(stopping ? [stopping] : [])]),
    });
    const isPage = await isWebPage(response);
    if (response.ok && !isPage) return { ok: true };
    const waitMs = Math.min(Number(response.headers.get('retry-after')) * 1000, RETRY_AFTER_MS_MAX);
    const why = `status ${response.status}${isPage ? ' with a web page' : ''}`;
    return { ok: false, why, ...(waitMs > 0 && { retryAfterMs: waitMs }) };
  } catch (error) {
    const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
    return { ok: false, why: `${name} ${String(cause?.code ?? '')}`.trim() };
  }
}

/** A login page or a proxy's answers anything with success. Slack calls its plain `ok` HTML, so the words decide. */
async function isWebPage(response: Response): Promise<boolean> {
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return /^\s*</.test(Buffer.from(first?.value ?? []).toString());
}
