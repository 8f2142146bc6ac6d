import { SpanKind } from '@opentelemetry/api';
import type { AllowedIds } from '../shared/config.ts';
import type { ReachFailpoint } from '../shared/failpoint.ts';
import type { Heartbeat } from '../shared/heartbeat.ts';
import { pause, type Service } from '../shared/lifecycle.ts';
import type { Logger } from '../shared/log.ts';
import { UnreadableMessageError } from '../shared/message.ts';
import type { Telegram, TelegramFailure } from '../shared/telegram.ts';
import { METRIC, SPAN, type Telemetry, traceparent } from '../shared/telemetry.ts';
import type { Inbox } from './inbox.ts';
import { intake } from './intake.ts';
import type { Lease, Term } from './lease.ts';

export interface PollerParts {
  /** Only its holder polls. It needs Redis, so nobody polls while messages could not be stored. */
  lease: Pick<Lease, 'begin'>;
  heartbeat: Heartbeat;
  telegram: Telegram;
  inbox: Inbox;
  allowed: AllowedIds;
  textMaxChars: number;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}

/** A running poller. */
export interface Poller extends Service {
  /** When Telegram last answered, in ms since the epoch; 0 before the first answer. */
  lastAnswerMs(): number;
}

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
const CONFLICT_MS = 10_000;

/**
 * Polls Telegram, at least once: an update is confirmed (by asking for the next one) only after it is on the stream or
 * was ignored on purpose. While Redis cannot take messages nothing is confirmed, and Telegram keeps the updates for 24
 * hours. Telegraf's own loop confirms a batch even when a handler failed, hence this one.
 *
 * Of all pollers of a bot only the holder of the lease polls; it stops at once when it loses the lease.
 */
export function startPoller(parts: PollerParts): Poller {
  const stopping = new AbortController();
  let lastAnswerMs = 0;
  const running = poll(parts, stopping.signal, () => {
    lastAnswerMs = Date.now();
  });
  return {
    name: 'poller',
    lastAnswerMs: () => lastAnswerMs,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function poll(parts: PollerParts, signal: AbortSignal, onAnswer: () => void): Promise<void> {
  while (!signal.aborted) {
    const term = await parts.lease.begin(signal);
    if (term) await pollDuring(term, parts, AbortSignal.any([signal, term.lost]), onAnswer);
  }
}

/** Each term begins without an offset: what another poller has confirmed since is not ours to know. */
async function pollDuring(term: Term, parts: PollerParts, signal: AbortSignal, onAnswer: () => void): Promise<void> {
  let offset: number | undefined;
  let failures = 0;
  while (!signal.aborted) {
    // Asking for updates confirms the ones before, which is for the holder alone to do.
    if (!(await term.confirm())) {
      await pause(RETRY_MS, signal);
      continue;
    }
    const polled = await parts.telegram.getUpdates(offset, signal);
    // What came in too late is not confirmed, and comes again to whoever polls next.
    if (signal.aborted || !term.isHeld()) return;
    if (!polled.ok) {
      failures += 1;
      parts.heartbeat.failed(polled.failure.kind);
      await waitOut(polled.failure, failures, parts.log, signal);
      continue;
    }
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
    parts.reach('update received');
    try {
      await acceptUpdate(parts, update);
    } catch (error) {
      if (error instanceof UnreadableMessageError) {
        // Asked for again it would fail again, and hold up every chat behind it.
        parts.telemetry.count(METRIC.ignored, { reason: 'malformed' });
        parts.log.error(
          { err: error, update: updateIdOf(update) },
          'an update that we cannot write down was passed over',
        );
        upTo = Math.max(upTo ?? 0, updateIdOf(update));
        continue;
      }
      parts.log.error({ err: error }, 'a message could not be stored; it stays with Telegram and is asked for again');
      return { ...(upTo !== undefined && { upTo }), complete: false };
    }
    upTo = Math.max(upTo ?? 0, updateIdOf(update));
  }
  return { ...(upTo !== undefined && { upTo }), complete: true };
}

async function acceptUpdate(parts: PollerParts, update: unknown): Promise<void> {
  const decided = intake(update, parts.allowed, parts.textMaxChars);
  if (!decided.accept) {
    parts.telemetry.count(METRIC.ignored, { reason: decided.reason });
    parts.log.debug({ reason: decided.reason }, 'update ignored');
    return;
  }
  const { message } = decided;
  const attributes = { 'messaging.system': 'telegram', 'spillway.update.id': message.updateId };
  await parts.telemetry.span(
    SPAN.receive,
    attributes,
    () =>
      parts.telemetry.span(
        SPAN.accept,
        { 'messaging.system': 'redis', 'messaging.destination.name': 'inbound' },
        async (span) => {
          const { entry, duplicate } = await parts.inbox.accept(parts.telegram.botId, message, traceparent());
          span.setAttributes({ 'messaging.message.id': entry, 'spillway.duplicate': duplicate });
          if (!duplicate) parts.telemetry.count(METRIC.accepted, {});
        },
        { kind: SpanKind.PRODUCER },
      ),
    { kind: SpanKind.CONSUMER, root: true },
  );
  parts.reach('accepted');
}

async function waitOut(failure: TelegramFailure, failures: number, log: Logger, signal: AbortSignal): Promise<void> {
  log.warn({ failure }, 'getUpdates failed');
  if (failure.kind === 'conflict') return pause(CONFLICT_MS, signal);
  return pause(failure.retryAfterMs ?? backoffMs(failures), signal);
}

function backoffMs(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS);
}

function updateIdOf(update: unknown): number {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return typeof id === 'number' ? id : 0;
}
