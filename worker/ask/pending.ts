import { SPAN } from '../../shared/base/telemetry.ts';
import { channelOf, type InboundMessage } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import { timeZoneOf } from '../lane/turn-settings.ts';
import { wellFormed } from '../model/block.ts';
import type { LoadedSession } from '../session/held-window.ts';
import { newStamp, type UserRecord } from '../session/record.ts';
import { headerOf, messageCode } from './message-header.ts';

/**
 * The maximum number of bytes that a load reads per token of the window. Texts with their records take 3 to 8 bytes per
 * token, so this limit matters only for sessions that have outgrown the window.
 */
export const LOAD_BYTES_PER_TOKEN = 14;

/**
 * Records the pending message in its session, unless an earlier attempt did, and loads as many of the newest records as the
 * model could accept. Contract: throws `FencedError`, or what Redis throws.
 */
export async function openSession(turn: Turn<Env>, pending: UserRecord, limitTokens: number): Promise<LoadedSession> {
  const { env } = turn;
  const loadedSession = await env.telemetry.span(SPAN.open, {}, async (span) => {
    const session = await env.sessions.open(turn, pending, limitTokens * LOAD_BYTES_PER_TOKEN);
    const { records } = session.window;
    span.setAttributes({ 'spillway.window.records': records.length, 'spillway.window.bytes': session.bytes });
    return session;
  });
  // Requests omit unreadable records (`torn`). Report their number to the operator once for each message and session.
  const { head, records } = loadedSession.window;
  const torn = [head, ...records].filter((record) => record?.t === 'torn').length;
  if (torn > 0)
    await commit(turn, { step: `torn:${turn.session}`, events: [{ event: 'session.torn', records: torn }] });
  return loadedSession;
}

/** The message as a record of the log. */
export function pendingRecord(turn: Turn<Env>, message: InboundMessage, content: UserRecord['content']): UserRecord {
  const { settings, selfEntered, elsewhere } = turn.env;
  const by = turn.isElsewhere ? elsewhere : selfEntered.get(message.content.kind);
  const code = messageCode(settings.TELEGRAM_BOT_TOKEN, turn.entry);
  const facts = { timeZone: timeZoneOf(turn, settings), code, nowMs: Date.now() };
  return wellFormed({
    v: 1,
    t: 'user',
    ...newStamp(),
    content,
    entry: turn.entry,
    channel: channelOf(message),
    header: headerOf(message, facts, by),
    ...(turn.replayOf && { retryOf: turn.replayOf }),
    ...(message.chatType !== 'private' && { from: message.from.name ?? String(message.from.id) }),
  });
}
