import { setTimeout as sleep } from 'node:timers/promises';
import type { Body } from './chats.ts';
import { badRequest, conflict, tooManyRequests } from './refusal.ts';
import type { Update, UpdateQueue } from './updates.ts';

/** The first pause after a refused delivery; it doubles. Telegram starts at a second, which no test wants to wait. */
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 2_000;
const ANSWER_TIMEOUT_MS = 10_000;
const SET_EVERY_MS = 1_000;

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
  /** The chats that have an update on its way, or one that was refused and waits for its next try. */
  #busy = new Set<unknown>();
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
    if (url !== '') {
      if (performance.now() - this.#setAt < SET_EVERY_MS) throw tooManyRequests(1);
      this.#setAt = performance.now();
    }
    if (url === this.#url && secret === this.#secret) return;
    this.stop();
    this.#stopped = new AbortController();
    this.#busy = new Set();
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
  info(): Body {
    const error = this.#lastError;
    return {
      url: this.#url,
      has_custom_certificate: false,
      pending_update_count: this.#updates.pending(),
      ...(error && { last_error_date: error.date, last_error_message: error.message }),
    };
  }

  /** Ends every delivery that is on its way. */
  stop(): void {
    this.#stopped.abort();
  }

  #deliverAll(): void {
    if (this.#url === '' || this.#stopped.signal.aborted) return;
    for (const update of this.#updates.waiting()) {
      const chat = chatOf(update);
      if (this.#busy.has(chat)) continue;
      this.#busy.add(chat);
      void this.#deliver(update, chat, this.#stopped.signal);
    }
  }

  /** Tries an update until it is accepted, and goes on with the next one of its chat. */
  async #deliver(update: Update, chat: unknown, stopped: AbortSignal): Promise<void> {
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_LAST_MS)) {
      const { status, reason, seconds } = await this.#post(update, stopped);
      if (stopped.aborted) return;
      this.deliveries.push({ updateId: update.update_id, status });
      if (status >= 200 && status < 300) break;
      this.#lastError = { date: Math.floor(Date.now() / 1000), message: reason };
      this.#onDelivery();
      await sleep(seconds === null ? pauseMs : Number(seconds) * 1_000, undefined, { signal: stopped }).catch(() => {});
      if (stopped.aborted) return;
    }
    this.#updates.confirm(update.update_id);
    this.#busy.delete(chat);
    if (this.#updates.pending() === 0) this.#lastError = undefined;
    this.#onDelivery();
    this.#deliverAll();
  }

  /** What came back for a delivery: the status is 0 for nothing. */
  async #post(update: Update, stopped: AbortSignal) {
    try {
      const secret = this.#secret === undefined ? {} : { 'x-telegram-bot-api-secret-token': this.#secret };
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...secret },
        body: JSON.stringify(update),
        signal: AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
      });
      await answer.arrayBuffer();
      const reason = `Wrong response from the webhook: ${answer.status} ${answer.statusText}`;
      return { status: answer.status, reason, seconds: answer.headers.get('retry-after') };
    } catch {
      // A server that cannot be reached is the same to Telegram as one that refuses.
      return { status: 0, reason: 'Connection refused', seconds: null };
    }
  }
}

/** An update without a chat waits for no other. */
function chatOf(update: Update): unknown {
  const about = Object.values(update).find((value) => typeof value === 'object' && value !== null);
  return (about as { chat?: { id?: unknown } } | undefined)?.chat?.id ?? update;
}
