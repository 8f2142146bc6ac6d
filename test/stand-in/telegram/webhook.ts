import { badRequest } from './refusal.ts';
import { conflict, type Update, type UpdateQueue } from './updates.ts';

/** The first pause after a refused delivery; it doubles. Telegram starts at a second, which no test wants to wait. */
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 2000;
const ANSWER_TIMEOUT_MS = 10_000;

/** Delivers updates to a bot's own server, one after the other, each until it is accepted with a 2xx. */
export class Webhook {
  readonly #updates: UpdateQueue;
  readonly #onDelivery: () => void;
  #url = '';
  #secret: string | undefined;
  #lastError: { date: number; message: string } | undefined;
  #stopped = new AbortController();
  #isDelivering = false;
  /** Every delivery that was tried: the update, and the status (0 for none). */
  readonly deliveries: { updateId: number; status: number }[] = [];

  constructor(updates: UpdateQueue, onDelivery: () => void) {
    this.#updates = updates;
    this.#onDelivery = onDelivery;
    updates.onArrival = () => this.#deliverAll();
  }

  /** Sets the webhook, or removes it with an empty URL. Plain HTTP is let through on loopback only. */
  set(url: string, secret: string | undefined): void {
    if (url !== '' && !/^https:\/\/|^http:\/\/(127\.0\.0\.1|localhost)[:/]/.test(url)) {
      throw badRequest('bad webhook: An HTTPS URL must be provided for webhook');
    }
    if (secret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(secret)) {
      throw badRequest('secret token contains unallowed characters');
    }
    this.stop();
    this.#stopped = new AbortController();
    this.#url = url;
    this.#secret = secret;
    this.#lastError = undefined;
    if (url !== '') this.#updates.interrupt('terminated by setWebhook request');
    this.#deliverAll();
  }

  /** A bot with a webhook cannot poll. */
  refusePolling(): void {
    if (this.#url === '') return;
    throw conflict(
      "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    );
  }

  /** What getWebhookInfo answers. */
  info(pending: number, allowed: readonly string[] | undefined): Record<string, unknown> {
    return {
      url: this.#url,
      has_custom_certificate: false,
      pending_update_count: pending,
      max_connections: 40,
      ...(allowed !== undefined && { allowed_updates: allowed }),
      ...(this.#lastError && { last_error_date: this.#lastError.date, last_error_message: this.#lastError.message }),
    };
  }

  /** Ends every delivery that is on its way. */
  stop(): void {
    this.#stopped.abort();
  }

  #deliverAll(): void {
    if (this.#isDelivering || this.#url === '') return;
    this.#isDelivering = true;
    this.#run(this.#stopped.signal).finally(() => {
      this.#isDelivering = false;
      if (this.#url !== '' && !this.#stopped.signal.aborted && this.#updates.pending() > 0) this.#deliverAll();
    });
  }

  async #run(stopped: AbortSignal): Promise<void> {
    let pauseMs = RETRY_FIRST_MS;
    for (
      let [update] = this.#updates.take(1);
      update !== undefined && !stopped.aborted;
      [update] = this.#updates.take(1)
    ) {
      const { status, retryAfterMs } = await this.#deliver(update, stopped);
      if (stopped.aborted) return;
      this.deliveries.push({ updateId: update.update_id, status });
      if (status >= 200 && status < 300) {
        this.#updates.confirm(update.update_id);
        pauseMs = RETRY_FIRST_MS;
      } else {
        this.#lastError = {
          date: Math.floor(Date.now() / 1000),
          message: `Wrong response from the webhook: ${status}`,
        };
        await pause(retryAfterMs ?? pauseMs, stopped);
        pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS);
      }
      this.#onDelivery();
    }
  }

  async #deliver(update: Update, stopped: AbortSignal): Promise<{ status: number; retryAfterMs?: number }> {
    try {
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(this.#secret !== undefined && { 'x-telegram-bot-api-secret-token': this.#secret }),
        },
        body: JSON.stringify(update),
        signal: AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
      });
      await answer.arrayBuffer();
      const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
      return { status: answer.status, ...(seconds >= 0 && { retryAfterMs: Math.min(seconds, 3600) * 1000 }) };
    } catch {
      // A server that cannot be reached is the same to Telegram as one that refuses.
      return { status: 0 };
    }
  }
}

function pause(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stopped.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    stopped.addEventListener('abort', end, { once: true });
  });
}
