import type { SendResult } from './channel.ts';

/**
 * A second channel for alerts: a service that accepts `{"text": …}`, such as Slack, Mattermost or Discord.
 *
 * Contract: `send` never throws, and ends within 10 seconds. A send with an unknown result counts as failed, so a message
 * may arrive twice. After a failure, further sends fail at once until a wait has passed.
 */
export interface Webhook {
  send(text: string): Promise<SendResult>;
}

type SendFailure = Extract<SendResult, { ok: false }>;

const TIMEOUT_MS = 10_000;
const WAIT_MS_MAX = 300_000;
/** Upper limit for the wait in the response header `retry-after`. */
const RETRY_AFTER_MS_MAX = 900_000;

/** The channel to `ALERT_WEBHOOK_URL`. The wait after a failure is `retryMs` at first, and doubles up to five minutes. */
export function webhookChannel(url: string, retryMs: number): Webhook {
  let failure: { result: SendFailure; tries: number; retryAtMs: number } | undefined;
  return {
    async send(text) {
      const nowMs = performance.now();
      if (failure && failure.retryAtMs > nowMs)
        return { ...failure.result, isAway: true, retryAfterMs: failure.retryAtMs - nowMs };
      const result = await postJson(url, { text: text.replaceAll(/[&<>]/g, (mark) => ESCAPED[mark] ?? mark) });
      failure = result.ok ? undefined : afterFailure(result, failure?.tries ?? 0);
      return result;
    },
  };

  function afterFailure(result: SendFailure, tries: number): typeof failure {
    const waitMs = Math.min(retryMs * 2 ** Math.min(tries, 10), WAIT_MS_MAX);
    return { result, tries: tries + 1, retryAtMs: performance.now() + Math.max(waitMs, result.retryAfterMs ?? 0) };
  }
}

/** Escapes for Slack, which reads text between < and > as a link or a mention. */
const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Posts a body as JSON, without following redirects. The failure never quotes the URL, which is a secret. Never throws. */
export async function postJson(url: string, body: unknown, stopping?: AbortSignal): Promise<SendResult> {
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

/** Whether a response is a web page, e.g. a login page with status 200. Ignores the content type: Slack labels `ok` as HTML. */
async function isWebPage(response: Response): Promise<boolean> {
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return /^\s*</.test(Buffer.from(first?.value ?? []).toString());
}
