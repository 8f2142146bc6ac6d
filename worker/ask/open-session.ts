import type { Observability } from '../../shared/base/observability.ts';
import { SPAN } from '../../shared/base/telemetry.ts';
import { channelOf, type InboundMessage } from '../../shared/flow/message.ts';
import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { type Settings, timeZoneOf } from '../lane/settings.ts';
import type { OpenedSession } from '../session/held-window.ts';
import type { UserRecord } from '../session/record.ts';
import { type ConversationStore, newStamp } from '../session/store.ts';
import { headerOf, messageCode } from './header.ts';

/**
 * Bytes that a load reads at most per token of the window. What people and models write takes 3 to 8, with the record
 * around it. So tokens bound a window, and this limit only matters for sessions that were never compacted.
 */
export const LOAD_BYTES_PER_TOKEN = 14;

/**
 * Records the pending message in its session, once, and loads as much of the window as the model could take. Contract:
 * throws `FencedError`, or what Redis throws.
 */
export async function openSession(
  ports: { store: Pick<ConversationStore, 'sessions'>; observability: Pick<Observability, 'telemetry' | 'reach'> },
  attempt: Attempt,
  pending: UserRecord,
  limitTokens: number,
): Promise<OpenedSession> {
  const bytesMax = limitTokens * LOAD_BYTES_PER_TOKEN;
  const opened = await ports.observability.telemetry.span(SPAN.open, {}, async (span) => {
    const loaded = await ports.store.sessions.open(attempt, pending, bytesMax);
    const { records } = loaded.window;
    span.setAttributes({ 'spillway.window.records': records.length, 'spillway.window.bytes': loaded.bytes });
    return loaded;
  });
  await reportTorn(ports, attempt, opened.window);
  return opened;
}

/** The message as the log keeps it. */
export function pendingRecord(
  settings: Pick<Settings, 'timeZone' | 'headerSecret'>,
  attempt: Pick<Attempt, 'chat' | 'entry' | 'choice'>,
  message: InboundMessage,
  content: UserRecord['content'],
): UserRecord {
  const code = messageCode(settings.headerSecret, attempt.entry);
  const facts = { timeZone: timeZoneOf(attempt, settings), code, nowMs: Date.now() };
  return {
    v: 1,
    t: 'user',
    ...newStamp(),
    content,
    entry: attempt.entry,
    channel: channelOf(message),
    header: headerOf(message, facts),
    ...(message.chatType !== 'private' && { from: message.from.name ?? String(message.from.id) }),
  };
}

/** A torn line is omitted from the view, in its place; the operator is notified once a message. */
async function reportTorn(
  { observability }: { observability: Pick<Observability, 'telemetry' | 'reach'> },
  attempt: Attempt,
  { head, records }: OpenedSession['window'],
): Promise<void> {
  const torn = [head, ...records].filter((record) => record?.t === 'torn').length;
  if (torn === 0) return;
  await commit(observability, attempt, {
    step: `torn:${attempt.session}`,
    events: [{ event: 'session.torn', records: torn }],
  });
}
