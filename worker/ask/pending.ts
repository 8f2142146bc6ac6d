import { SPAN } from '../../shared/base/telemetry.ts';
import { channelOf, type InboundMessage } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import { timeZoneOf } from '../lane/turn-settings.ts';
import { wellFormed } from '../model/block.ts';
import { type LoadedSession, withRecord } from '../session/held-window.ts';
import { trimOf } from '../session/overlay.ts';
import { type LogRecord, newStamp, type UserRecord } from '../session/record.ts';
import { append } from '../session/store.ts';
import { headerOf, messageCode } from './message-header.ts';
import { hasCalls } from './words.ts';

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
  const bytesMax = limitTokens * LOAD_BYTES_PER_TOKEN;
  const loadedSession = await env.telemetry.span(SPAN.open, {}, async (span) => {
    const session = await env.sessions.open(turn, pending, bytesMax);
    const { records } = session.window;
    span.setAttributes({ 'spillway.window.records': records.length, 'spillway.window.bytes': session.bytes });
    return session;
  });
  // Requests omit unreadable records (`torn`). Report their number to the operator once for each message and session.
  const { head, records } = loadedSession.window;
  const torn = [head, ...records].filter((record) => record?.t === 'torn').length;
  const events = [{ event: 'session.torn', records: torn } as const];
  if (torn > 0) await commit(turn, { step: `torn:${turn.session}`, events });
  return hideEarlierTry(turn, loadedSession);
}

const PUT_BACK = '[This message failed, and stands again below. What was done for it before that follows.]';

/**
 * Hides the earlier copy of a replayed message, since the replay is now at the end of the conversation. The tool calls that
 * were made for that copy stay visible, so that the model does not repeat them. Returns the session unchanged if the
 * message is not a replay, or if the window has no copy that is still to be hidden. Contract: as `openSession`.
 */
async function hideEarlierTry(turn: Turn, loadedSession: LoadedSession): Promise<LoadedSession> {
  const { replayOf: entry, keys, session } = turn;
  const { records } = loadedSession.window;
  const step = `hidden:${session}`;
  const earlierTry = records.filter((record) => 'entry' in record && record.entry === entry);
  if (entry === undefined || !earlierTry.some(({ t }) => t === 'user') || turn.hasDone(step)) return loadedSession;
  const hasActed = earlierTry.some((record) => record.t === 'assistant' && hasCalls(record.content));
  const replacement = hasActed ? { text: PUT_BACK } : { text: '', turn: true };
  // Omit the thinking, too: it is bound to the text before it, which the scrub changes.
  const newRecords: LogRecord[] = [
    { v: 1, t: 'scrub', ...newStamp(), entry, ...replacement },
    trimOf('thinking', records),
  ];
  await turn.write(step, append(keys, session, newRecords));
  return newRecords.reduce(withRecord, loadedSession);
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
    ...(message.chatType !== 'private' && { from: message.from.name ?? String(message.from.id) }),
  });
}
