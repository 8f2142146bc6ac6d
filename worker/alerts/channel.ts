import type { Telegram } from '../../shared/telegram/client.ts';

/** The result of a message to an operator. */
export type Sent =
  | { ok: true }
  | {
      ok: false;
      /** Whether the destination no longer exists: a chat that is gone may never come back. */
      isGone: boolean;
      /** For the log: never a URL or a token. */
      why: string;
      retryAfterMs?: number;
      /** Nothing was tried, because Telegram is away: it is tried as soon as that is over. */
      isAway?: true;
      /** The chat's new id. */
      movedTo?: number;
    };

/**
 * A way to an operator.
 *
 * Contract: never throws; a message whose fate is unknown counts as not sent, so it may come twice. Ends within 30
 * seconds.
 */
export interface AlertChannel {
  readonly name: string;
  send(text: string): Promise<Sent>;
}

const WEBHOOK_TIMEOUT_MS = 10_000;

/** The operator's chat on Telegram. */
export function telegramChannel(telegram: Telegram, chatId: number): AlertChannel {
  return {
    name: 'telegram',
    async send(text) {
      const sent = await telegram.sendMessage({ chatId }, text);
      if (sent.ok) return { ok: true };
      const { kind, description, retryAfterMs, migratedTo } = sent.failure;
      return {
        ok: false,
        isGone: kind === 'gone' || kind === 'rejected',
        why: `${kind}: ${description}`,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(kind === 'away' && { isAway: true }),
        ...(migratedTo !== undefined && { movedTo: migratedTo }),
      };
    },
  };
}

/**
 * A URL that takes `POST {"text": …}`, as Slack's incoming webhooks do. The body has no other field, since they refuse
 * unknown ones. The URL is a secret and is never logged.
 */
export function webhookChannel(url: string): AlertChannel {
  return {
    name: 'webhook',
    async send(text) {
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text }),
          signal: AbortSignal.timeout(WEBHOOK_TIMEOUT_MS),
        });
        await response.body?.cancel();
        return response.ok ? { ok: true } : { ok: false, isGone: false, why: `status ${response.status}` };
      } catch (error) {
        // Only the code: the message may quote the URL.
        const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
        return { ok: false, isGone: false, why: `${name} ${String(cause?.code ?? '')}`.trim() };
      }
    },
  };
}
