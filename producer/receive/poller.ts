import { pause, type Service } from '../../shared/base/lifecycle.ts';
import { rareWarning } from '../../shared/base/log.ts';
import { shardOf } from '../../shared/redis/keys.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { AcceptUpdate } from '../accept/accept.ts';
import { chatsIn } from '../accept/read-update.ts';
import type { ProducerEnv } from '../env.ts';
import { runInTerms, type Term } from './lease.ts';

/** A running poller. */
export interface Poller extends Service {
  /** The time (`performance.now()`) of the last poll whose updates were all stored, or that stored at least one new update. */
  lastAnswerMs(): number | undefined;
}

/** The pause before the next poll after an update could not be stored; Telegram keeps the update meanwhile. */
const UNSTORED_RETRY_MS = 1_000;

/**
 * Polls Telegram with at-least-once delivery: the poller confirms an update, by asking for the next one, only after the update
 * is on the stream or was ignored on purpose. While Redis stores nothing, the poller confirms nothing, and Telegram keeps the
 * updates for 24 hours. Telegraf's own loop is not used, because it confirms a batch even when a handler failed.
 *
 * An update that cannot be stored blocks its own chat, and its whole shard once a second chat of the shard is blocked. Later
 * updates of other chats are stored, up to the 100 of one poll, and the poller confirms them only with the blocking update.
 *
 * Only the holder of the lease polls. A holder that loses the lease stops polling at once. The poller removes any webhook of
 * the bot, because the configuration says to poll.
 */
export function startPoller(env: ProducerEnv, accept: AcceptUpdate): Poller {
  let lastAnswerMs: number | undefined;
  const onAnswer = (): void => {
    lastAnswerMs = performance.now();
  };
  const polling = runInTerms('poller', env, (term, signal) =>
    pollDuring(term, env, new Intake(env, accept), signal, onAnswer),
  );
  return { ...polling, lastAnswerMs: () => lastAnswerMs };
}

/** Polls during one term. Begins without an offset, because another poller may have confirmed updates before this term. */
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
    // Only the holder of the lease may poll, because a poll confirms all updates before its offset.
    if (!(await term.renew())) return;
    // Ask for the first answer at once, because it shows that we receive. With a quiet bot, a long poll takes 50 seconds.
    const polled = await telegram.getUpdates(intake.offset, signal, isAnswered ? undefined : 'at once');
    // The term is over, or the service stops. These updates stay unconfirmed, so Telegram sends them to the next poller.
    if (signal.aborted || !term.isHeld()) return;
    if (!polled.ok) {
      const { failure } = polled;
      failures += 1;
      log.warn({ failure }, 'getUpdates failed');
      const isLeftOver = failure.kind === 'webhook_set' && !hasRemovedWebhook;
      if (failure.kind === 'webhook_set' && (await removeWebhook(env, signal))) hasRemovedWebhook = true;
      // The first webhook comes from an earlier configuration, so poll again at once. A later one is from a competing system.
      if (signal.aborted || (isLeftOver && hasRemovedWebhook)) continue;
      heartbeat.failed(failure.kind);
      await waitOut(failure, failures, signal);
      continue;
    }
    isAnswered = true;
    failures = 0;
    if (intake.offset !== undefined) reach('confirmed');
    const { stored, unstored } = await intake.accept(polled.value);
    if (unstored === 0 || stored > 0) onAnswer();
    if (unstored === 0) heartbeat.answered();
    else {
      heartbeat.failed('unstored');
      await pause(UNSTORED_RETRY_MS, signal);
    }
  }
}

/** Removes the webhook; false if that failed. Telegram keeps the pending updates for the next poll. */
async function removeWebhook({ telegram, log }: ProducerEnv, signal: AbortSignal): Promise<boolean> {
  log.warn('a webhook is set for this bot, and we are to poll: it is removed, what waits at Telegram is kept');
  const result = await telegram.deleteWebhook(signal);
  if (!result.ok) log.warn({ failure: result.failure }, 'deleteWebhook failed');
  return result.ok;
}

/** The progress of one term: the stored updates, and the offset of the next poll. */
class Intake {
  /** The id of the first update that may be unstored; `undefined` while this term has had no update to confirm. */
  offset: number | undefined;
  readonly #accept: AcceptUpdate;
  readonly #shards: number;
  readonly #noteUnstored: (details: object) => void;
  /** The ids of stored updates that cannot be confirmed yet, because an earlier update is not stored. */
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
   * Stores updates in the order of each chat: after an update that cannot be stored, skips later updates of its chats. Returns
   * how many updates were stored now, and how many are not stored.
   */
  async accept(updates: readonly unknown[]): Promise<{ stored: number; unstored: number }> {
    const blocked = new BlockedChats(this.#shards);
    let stored = 0;
    let unstored = 0;
    for (const update of updates) {
      const id = updateIdOf(update);
      if (this.#stored.has(id) || (await this.#store(update, blocked))) {
        if (!this.#stored.has(id)) stored += 1;
        this.#stored.add(id);
      } else unstored += 1;
      if (unstored === 0) this.offset = Math.max(this.offset ?? 0, id + 1);
    }
    if (unstored === 0) this.#stored.clear();
    return { stored, unstored };
  }

  /** Stores an update unless one of its chats is blocked. Returns whether the update is stored, or ignored on purpose. */
  async #store(update: unknown, blocked: BlockedChats): Promise<boolean> {
    const chats = chatsIn(update);
    if (blocked.mustWait(chats)) return false;
    try {
      await this.#accept(update);
      return true;
    } catch (error) {
      blocked.add(chats);
      this.#noteUnstored({ err: error });
      return false;
    }
  }
}

/** The chats of a batch whose updates have to wait, because an earlier update could not be stored. */
class BlockedChats {
  readonly #chats = new Set<number>();
  readonly #shards: number;

  constructor(shards: number) {
    this.#shards = shards;
  }

  /** Whether an update of these chats has to wait. If so, blocks all of these chats, too. */
  mustWait(chats: readonly number[]): boolean {
    const isBlocked = chats.some((chat) => this.#chats.has(chat) || this.#countIn(shardOf(chat, this.#shards)) > 1);
    if (isBlocked) this.add(chats);
    return isBlocked;
  }

  add(chats: readonly number[]): void {
    for (const chat of chats) this.#chats.add(chat);
  }

  #countIn(shard: number): number {
    return [...this.#chats].filter((chat) => shardOf(chat, this.#shards) === shard).length;
  }
}

function updateIdOf(update: unknown): number {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return typeof id === 'number' ? id : 0;
}

const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** The pause after another poller ended our poll. Without the pause, two pollers would only end each other's polls. */
const CONFLICT_MS = 10_000;

/**
 * Waits before the next call to Telegram: ten seconds after a conflict with another poller, else for `retryAfterMs`, else for a
 * time that doubles with each of the `failures` in a row, up to half a minute. Returns early when `signal` aborts.
 */
export function waitOut({ kind, retryAfterMs }: TelegramFailure, failures: number, signal: AbortSignal): Promise<void> {
  if (kind === 'conflict') return pause(CONFLICT_MS, signal);
  return pause(retryAfterMs ?? Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MS_MAX), signal);
}
