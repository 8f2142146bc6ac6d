import { pause, type Service } from '../../shared/base/lifecycle.ts';
import { rareWarning } from '../../shared/base/log.ts';
import { shardOf } from '../../shared/redis/keys.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { AcceptUpdate } from '../accept/accept.ts';
import { chatsIn } from '../accept/read-update.ts';
import type { ProducerEnv } from '../env.ts';
import { duringTerms, type Term } from './lease.ts';

/** A running poller. */
export interface Poller extends Service {
  /** The time (`performance.now()`) of the last poll that was empty or gave at least one stored update. */
  lastAnswerMs(): number | undefined;
}

/** The pause before the next poll after an update could not be stored; Telegram keeps the update meanwhile. */
const UNSTORED_RETRY_MS = 1_000;

/**
 * Polls Telegram, at least once: an update is confirmed (by asking for the next one) only after it is on the stream or
 * was ignored on purpose. While Redis cannot take messages nothing is confirmed, and Telegram keeps the updates for 24
 * hours. Telegraf's own loop confirms a batch even when a handler failed, hence this one.
 *
 * An update that cannot be stored holds up its own chat, and its shard once a second chat fails there. The updates of
 * other chats behind it are stored, as far as one poll shows them (100), and are confirmed with it.
 *
 * Of all pollers of a bot only the holder of the lease polls; it stops at once when it loses the lease. It removes any
 * webhook that is set, whatever its origin: our configuration says that we poll.
 */
export function startPoller(env: ProducerEnv, accept: AcceptUpdate): Poller {
  let lastAnswerMs: number | undefined;
  const onAnswer = (): void => {
    lastAnswerMs = performance.now();
  };
  const polling = duringTerms('poller', env, (term, signal) =>
    pollDuring(term, env, new Intake(env, accept), signal, onAnswer),
  );
  return { ...polling, lastAnswerMs: () => lastAnswerMs };
}

/** Each term begins without an offset: we do not know what another poller has confirmed since. */
async function pollDuring(
  term: Term,
  env: ProducerEnv,
  intake: Intake,
  signal: AbortSignal,
  onAnswer: () => void,
): Promise<void> {
  const { telegram, heartbeat, log, reach } = env;
  let failures = 0;
  let hasRemovedWebhook = false;
  let isAnswered = false;
  while (!signal.aborted) {
    // A request for updates confirms the earlier ones, which only the holder may do.
    if (!(await term.renew())) return;
    // The first answer shows that we receive; for a quiet bot a long poll would delay it by 50 seconds.
    const polled = await telegram.getUpdates(intake.offset, signal, isAnswered ? undefined : 'at once');
    // Updates that arrive too late are not confirmed, and come again to the next poller.
    if (signal.aborted || !term.isHeld()) return;
    if (!polled.ok) {
      const { failure } = polled;
      failures += 1;
      log.warn({ failure }, 'getUpdates failed');
      const isLeftOver = failure.kind === 'webhook_set' && !hasRemovedWebhook;
      if (failure.kind === 'webhook_set' && (await removeWebhook(env, signal))) hasRemovedWebhook = true;
      // The first webhook is left from an earlier configuration. One that comes back belongs to another system that
      // competes with us.
      if (signal.aborted || (isLeftOver && hasRemovedWebhook)) continue;
      heartbeat.failed(failure.kind);
      await waitOut(failure, failures, signal);
      continue;
    }
    isAnswered = true;
    failures = 0;
    if (intake.offset !== undefined) reach('confirmed');
    const { stored, unstored } = await intake.accept(polled.value);
    // A receiver that gets updates and cannot store them is no sign of life.
    if (unstored === 0 || stored > 0) onAnswer();
    if (unstored === 0) heartbeat.answered();
    else {
      heartbeat.failed('unstored');
      await pause(UNSTORED_RETRY_MS, signal);
    }
  }
}

/** Returns whether the webhook is gone. Telegram keeps the pending updates for the next poll. */
async function removeWebhook({ telegram, log }: ProducerEnv, signal: AbortSignal): Promise<boolean> {
  log.warn('a webhook is set for this bot, and we are to poll: it is removed, what waits at Telegram is kept');
  const removed = await telegram.deleteWebhook(signal);
  if (!removed.ok) log.warn({ failure: removed.failure }, 'deleteWebhook failed');
  return removed.ok;
}

/** The updates of one term: which of them are stored, and which one Telegram may send next. */
class Intake {
  /** Every update before this one is stored; `undefined` until one is known to be. */
  offset: number | undefined;
  readonly #accept: AcceptUpdate;
  readonly #shards: number;
  readonly #noteUnstored: (details: object) => void;
  /** Stored updates behind one that is not. */
  #stored = new Set<number>();

  constructor({ settings, log }: ProducerEnv, accept: AcceptUpdate) {
    this.#accept = accept;
    this.#shards = settings.SHARDS;
    this.#noteUnstored = rareWarning(
      { warn: log.error.bind(log) },
      'a message could not be stored; it stays with Telegram and is asked for again',
    );
  }

  /**
   * Stores updates in the order of each chat: after an update that cannot be stored, later ones of its chats are skipped.
   * Returns how many were stored now, and how many are not stored.
   */
  async accept(updates: readonly unknown[]): Promise<{ stored: number; unstored: number }> {
    const held: Held = { chats: undefined };
    let stored = 0;
    let unstored = 0;
    for (const update of updates) {
      const id = updateIdOf(update);
      if (this.#stored.has(id) || (await this.#take(update, held))) {
        if (!this.#stored.has(id)) stored += 1;
        this.#stored.add(id);
      } else unstored += 1;
      if (unstored === 0) this.offset = Math.max(this.offset ?? 0, id + 1);
    }
    if (unstored === 0) this.#stored.clear();
    return { stored, unstored };
  }

  /** Returns whether an update is dealt with. */
  async #take(update: unknown, held: Held): Promise<boolean> {
    const chats = chatsIn(update);
    if (held.chats?.holds(chats)) return false;
    try {
      await this.#accept(update);
      return true;
    } catch (error) {
      held.chats ??= new HeldChats(this.#shards);
      held.chats.add(chats);
      this.#noteUnstored({ err: error });
      return false;
    }
  }
}

/** The chats that wait in one batch; none before an update of it could not be stored. */
type Held = { chats: HeldChats | undefined };

/** The chats of which an update could not be stored. */
class HeldChats {
  readonly #chats = new Set<number>();
  readonly #shards: number;

  constructor(shards: number) {
    this.#shards = shards;
  }

  /** Whether an update of these chats has to wait. If so, later updates of each of these chats have to wait too. */
  holds(chats: readonly number[]): boolean {
    const isHeld = chats.some((chat) => this.#chats.has(chat) || this.#failedIn(shardOf(chat, this.#shards)) > 1);
    if (isHeld) this.add(chats);
    return isHeld;
  }

  add(chats: readonly number[]): void {
    for (const chat of chats) this.#chats.add(chat);
  }

  #failedIn(shard: number): number {
    return [...this.#chats].filter((chat) => shardOf(chat, this.#shards) === shard).length;
  }
}

function updateIdOf(update: unknown): number {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return typeof id === 'number' ? id : 0;
}

const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** How long a poll that another one ended waits: without it, two pollers would do nothing but end each other's polls. */
const CONFLICT_MS = 10_000;

/**
 * Waits before the next call to Telegram: as long as Telegram asks, else longer after each of the `failures` in a row, up to
 * half a minute. Returns early when `signal` is aborted.
 */
export function waitOut({ kind, retryAfterMs }: TelegramFailure, failures: number, signal: AbortSignal): Promise<void> {
  if (kind === 'conflict') return pause(CONFLICT_MS, signal);
  return pause(retryAfterMs ?? Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MS_MAX), signal);
}
