import { badRequest, RefusedError } from './refusal.ts';
import { conflict, type Update, type UpdateQueue } from './updates.ts';

/** The first pause after a refused delivery; it doubles. Telegram starts at a second, which no test wants to wait. */
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 2000;
const ANSWER_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 40;
const SET_EVERY_MS = 1000;

/**
 * Delivers updates to a bot's own server, each until it is accepted with a 2xx: those of a chat one after the other,
 * those of different chats side by side, as Telegram does it.
 */
export class Webhook {
  readonly #updates: UpdateQueue;
  readonly #onDelivery: () => void;
  #url = '';
  #secret: string | undefined;
  #setAt = Number.NEGATIVE_INFINITY;
  #lastError: { date: number; message: string } | undefined;
  #stopped = new AbortController();
  /** The chats whose next update is on its way. */
  #underWay = new Set<unknown>();
  /** The chats whose next update was refused and waits for its next try, with the pause after that one. */
  #resting = new Set<unknown>();
  #pauses = new Map<unknown, number>();
  /** Every delivery that was tried: the update, and the status (0 for none). */
  readonly deliveries: { updateId: number; status: number }[] = [];

  constructor(updates: UpdateQueue, onDelivery: () => void) {
    this.#updates = updates;
    this.#onDelivery = onDelivery;
    updates.onArrival = () => this.#deliverAll();
  }

  /**
   * Sets the webhook, or removes it with an empty URL. Plain HTTP is let through on loopback only. The same again changes
   * nothing, and two within a second are too many.
   */
  set(url: string, secret: string | undefined): void {
    if (url !== '' && !/^https:\/\/|^http:\/\/(127\.0\.0\.1|localhost)[:/]/.test(url)) {
      throw badRequest('bad webhook: An HTTPS URL must be provided for webhook');
    }
    if (secret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(secret)) {
      throw badRequest('secret token contains unallowed characters');
    }
    this.#limit(url);
    if (url === this.#url && secret === this.#secret) return;
    this.stop();
    this.#stopped = new AbortController();
    this.#underWay = new Set();
    this.#resting = new Set();
    this.#pauses = new Map();
    this.#url = url;
    this.#secret = secret;
    this.#lastError = undefined;
    if (url !== '') this.#updates.interrupt('terminated by setWebhook request');
    this.#deliverAll();
  }

  #limit(url: string): void {
    if (url === '') return;
    const sinceMs = performance.now() - this.#setAt;
    if (sinceMs < SET_EVERY_MS) {
      throw new RefusedError({
        status: 429,
        description: 'Too Many Requests: retry after 1',
        parameters: { retry_after: 1 },
      });
    }
    this.#setAt = performance.now();
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
    if (this.#url === '' || this.#stopped.signal.aborted) return;
    const passed = new Set<unknown>();
    for (const update of this.#updates.waiting()) {
      const chat = chatOf(update);
      if (this.#underWay.size >= CONNECTIONS_MAX) return;
      if (!passed.has(chat) && !this.#underWay.has(chat) && !this.#resting.has(chat)) {
        this.#underWay.add(chat);
        void this.#deliver(update, chat, this.#stopped.signal);
      }
      passed.add(chat);
    }
  }

  async #deliver(update: Update, chat: unknown, stopped: AbortSignal): Promise<void> {
    const { status, reason, retryAfterMs } = await this.#post(update, stopped);
    if (stopped.aborted) return;
    this.#underWay.delete(chat);
    this.deliveries.push({ updateId: update.update_id, status });
    if (status >= 200 && status < 300) {
      this.#updates.confirm(update.update_id);
      this.#pauses.delete(chat);
      if (this.#updates.pending() === 0) this.#lastError = undefined;
    } else {
      this.#lastError = { date: Math.floor(Date.now() / 1000), message: reason };
      void this.#rest(chat, retryAfterMs, stopped);
    }
    this.#onDelivery();
    this.#deliverAll();
  }

  async #rest(chat: unknown, retryAfterMs: number | undefined, stopped: AbortSignal): Promise<void> {
    const pauseMs = this.#pauses.get(chat) ?? RETRY_FIRST_MS;
    this.#pauses.set(chat, Math.min(pauseMs * 2, RETRY_LAST_MS));
    this.#resting.add(chat);
    await pause(retryAfterMs ?? pauseMs, stopped);
    if (stopped.aborted) return;
    this.#resting.delete(chat);
    this.#deliverAll();
  }

  async #post(update: Update, stopped: AbortSignal): Promise<Answer> {
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
      const reason = `Wrong response from the webhook: ${answer.status} ${answer.statusText}`;
      return { status: answer.status, reason, ...(seconds >= 0 && { retryAfterMs: Math.min(seconds, 3600) * 1000 }) };
    } catch {
      // A server that cannot be reached is the same to Telegram as one that refuses.
      return { status: 0, reason: 'Connection refused' };
    }
  }
}

interface Answer {
  status: number;
  reason: string;
  retryAfterMs?: number;
}

/** An update without a chat waits for no other. */
function chatOf(update: Update): unknown {
  const about = Object.values(update).find((value) => typeof value === 'object' && value !== null);
  return (about as { chat?: { id?: unknown } } | undefined)?.chat?.id ?? update;
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
