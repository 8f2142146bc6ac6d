import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { Heartbeat } from '../../shared/flow/receiver-health.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import { type AcceptanceParts, acceptUpdate } from '../accept/accept.ts';
import { backoffMs, waitOut } from './backoff.ts';
import { duringTerms, type Lease, UNCONFIRMED_MS } from './lease.ts';
import type { Term } from './term.ts';

export interface PollerParts extends AcceptanceParts {
  /** Only its holder polls. It needs Redis, so nobody polls while messages could not be stored. */
  lease: Pick<Lease, 'begin'>;
  heartbeat: Heartbeat;
  telegram: Telegram;
}

/** A running poller. */
export interface Poller extends Service {
  /** When Telegram last answered, in ms since the epoch; 0 before the first answer. */
  lastAnswerMs(): number;
}

/**
 * Polls Telegram, at least once: an update is confirmed (by asking for the next one) only after it is on the stream or
 * was ignored on purpose. While Redis cannot take messages nothing is confirmed, and Telegram keeps the updates for 24
 * hours. Telegraf's own loop confirms a batch even when a handler failed, hence this one.
 *
 * Of all pollers of a bot only the holder of the lease polls; it stops at once when it loses the lease. A webhook that
 * stands in its way is removed, whoever set it: our configuration says that we poll.
 */
export function startPoller(parts: PollerParts): Poller {
  let lastAnswerMs = 0;
  const onAnswer = (): void => {
    lastAnswerMs = Date.now();
  };
  const polling = duringTerms('poller', parts, (term, signal) => pollDuring(term, parts, signal, onAnswer));
  return { ...polling, lastAnswerMs: () => lastAnswerMs };
}

/** Each term begins without an offset: what another poller has confirmed since is not ours to know. */
async function pollDuring(term: Term, parts: PollerParts, signal: AbortSignal, onAnswer: () => void): Promise<void> {
  let offset: number | undefined;
  let failures = 0;
  let hasRemovedWebhook = false;
  let isAnswered = false;
  while (!signal.aborted) {
    // Asking for updates confirms the ones before, which is for the holder alone to do.
    if (!(await term.confirm())) {
      await pause(UNCONFIRMED_MS, signal);
      continue;
    }
    // The first answer says that we receive, and a quiet bot would give it after 50 seconds.
    const polled = await parts.telegram.getUpdates(offset, signal, isAnswered ? undefined : 'at once');
    // What came in too late is not confirmed, and comes again to whoever polls next.
    if (signal.aborted || !term.isHeld()) return;
    if (!polled.ok) {
      const { failure } = polled;
      failures += 1;
      parts.log.warn({ failure }, 'getUpdates failed');
      const isLeftOver = failure.kind === 'webhook_set' && !hasRemovedWebhook;
      if (failure.kind === 'webhook_set' && (await removeWebhook(parts, signal))) hasRemovedWebhook = true;
      // The first one was set by an earlier configuration. One that comes back is somebody's who works against us.
      if (signal.aborted || (isLeftOver && hasRemovedWebhook)) continue;
      parts.heartbeat.failed(failure.kind);
      await waitOut(failure, failures, signal);
      continue;
    }
    isAnswered = true;
    onAnswer();
    parts.heartbeat.answered();
    if (offset !== undefined) parts.reach('confirmed');
    const confirmed = await acceptBatch(parts, polled.value);
    if (confirmed.upTo !== undefined) offset = confirmed.upTo + 1;
    failures = confirmed.complete ? 0 : failures + 1;
    if (!confirmed.complete) await pause(backoffMs(failures), signal);
  }
}

/** Accepts updates in order and stops at the first that could not be stored, so that order per chat holds. */
async function acceptBatch(parts: PollerParts, updates: unknown[]): Promise<{ upTo?: number; complete: boolean }> {
  let upTo: number | undefined;
  for (const update of updates) {
    try {
      await acceptUpdate(parts, update);
    } catch (error) {
      parts.log.error({ err: error }, 'a message could not be stored; it stays with Telegram and is asked for again');
      return { ...(upTo !== undefined && { upTo }), complete: false };
    }
    upTo = Math.max(upTo ?? 0, updateIdOf(update));
  }
  return { ...(upTo !== undefined && { upTo }), complete: true };
}

/** Answers whether it is gone. What waits at Telegram is kept, and is polled next. */
async function removeWebhook({ telegram, log }: PollerParts, signal: AbortSignal): Promise<boolean> {
  log.warn('a webhook is set for this bot, and we are to poll: it is removed, what waits at Telegram is kept');
  const removed = await telegram.deleteWebhook(signal);
  if (!removed.ok) log.warn({ failure: removed.failure }, 'deleteWebhook failed');
  return removed.ok;
}

function updateIdOf(update: unknown): number {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return typeof id === 'number' ? id : 0;
}
