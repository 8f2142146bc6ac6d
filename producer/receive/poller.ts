import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Heartbeat } from '../../shared/state/process/receiver.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { AcceptUpdate } from '../accept/accept.ts';
import { backoffMs, duringTerms, type Lease, type Term, UNCONFIRMED_MS, waitOut } from './lease.ts';

export interface PollerPorts {
  accept: AcceptUpdate;
  /** Only its holder polls. The lease needs Redis, so no process polls while messages could not be stored. */
  lease: Pick<Lease, 'begin'>;
  heartbeat: Heartbeat;
  telegram: Telegram;
  log: Logger;
  reach: ReachFailpoint;
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
 * Of all pollers of a bot only the holder of the lease polls; it stops at once when it loses the lease. It removes any
 * webhook that is set, whatever its origin: our configuration says that we poll.
 */
export function startPoller(ports: PollerPorts): Poller {
  let lastAnswerMs = 0;
  const onAnswer = (): void => {
    lastAnswerMs = Date.now();
  };
  const polling = duringTerms('poller', ports, (term, signal) => pollDuring(term, ports, signal, onAnswer));
  return { ...polling, lastAnswerMs: () => lastAnswerMs };
}

/** Each term begins without an offset: we do not know what another poller has confirmed since. */
async function pollDuring(term: Term, ports: PollerPorts, signal: AbortSignal, onAnswer: () => void): Promise<void> {
  let offset: number | undefined;
  let failures = 0;
  let hasRemovedWebhook = false;
  let isAnswered = false;
  while (!signal.aborted) {
    // A request for updates confirms the earlier ones, which only the holder may do.
    if (!(await term.confirm())) {
      await pause(UNCONFIRMED_MS, signal);
      continue;
    }
    // The first answer shows that we receive; for a quiet bot a long poll would delay it by 50 seconds.
    const polled = await ports.telegram.getUpdates(offset, signal, isAnswered ? undefined : 'at once');
    // Updates that arrive too late are not confirmed, and come again to the next poller.
    if (signal.aborted || !term.isHeld()) return;
    if (!polled.ok) {
      const { failure } = polled;
      failures += 1;
      ports.log.warn({ failure }, 'getUpdates failed');
      const isLeftOver = failure.kind === 'webhook_set' && !hasRemovedWebhook;
      if (failure.kind === 'webhook_set' && (await removeWebhook(ports, signal))) hasRemovedWebhook = true;
      // The first webhook is left from an earlier configuration. One that comes back belongs to another system that
      // competes with us.
      if (signal.aborted || (isLeftOver && hasRemovedWebhook)) continue;
      ports.heartbeat.failed(failure.kind);
      await waitOut(failure, failures, signal);
      continue;
    }
    isAnswered = true;
    onAnswer();
    ports.heartbeat.answered();
    if (offset !== undefined) ports.reach('confirmed');
    const confirmed = await acceptBatch(ports, polled.value);
    if (confirmed.upTo !== undefined) offset = confirmed.upTo + 1;
    failures = confirmed.complete ? 0 : failures + 1;
    if (!confirmed.complete) await pause(backoffMs(failures), signal);
  }
}

/** Accepts updates in order and stops at the first that could not be stored, which preserves order per chat. */
async function acceptBatch(ports: PollerPorts, updates: unknown[]): Promise<{ upTo?: number; complete: boolean }> {
  let upTo: number | undefined;
  for (const update of updates) {
    try {
      await ports.accept(update);
    } catch (error) {
      ports.log.error({ err: error }, 'a message could not be stored; it stays with Telegram and is asked for again');
      return { ...(upTo !== undefined && { upTo }), complete: false };
    }
    upTo = Math.max(upTo ?? 0, updateIdOf(update));
  }
  return { ...(upTo !== undefined && { upTo }), complete: true };
}

/** Returns whether the webhook is gone. Telegram keeps the pending updates for the next poll. */
async function removeWebhook({ telegram, log }: PollerPorts, signal: AbortSignal): Promise<boolean> {
  log.warn('a webhook is set for this bot, and we are to poll: it is removed, what waits at Telegram is kept');
  const removed = await telegram.deleteWebhook(signal);
  if (!removed.ok) log.warn({ failure: removed.failure }, 'deleteWebhook failed');
  return removed.ok;
}

function updateIdOf(update: unknown): number {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return typeof id === 'number' ? id : 0;
}
