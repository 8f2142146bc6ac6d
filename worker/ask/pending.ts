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
 * Bytes that a load reads at most per token of the window. What people and models write takes 3 to 8, with the record
 * around it. So tokens bound a window, and this limit only matters for sessions that were never compacted.
 */
export const LOAD_BYTES_PER_TOKEN = 14;

/**
 * Records the pending message in its session, once, and loads as much of the window as the model could take. Contract:
 * throws `FencedError`, or what Redis throws.
 */
export async function openSession(turn: Turn<Env>, pending: UserRecord, limitTokens: number): Promise<LoadedSession> {
  const { env } = turn;
  const bytesMax = limitTokens * LOAD_BYTES_PER_TOKEN;
  const loadedSession = await env.telemetry.span(SPAN.open, {}, async (span) => {
    const loaded = await env.sessions.open(turn, pending, bytesMax);
    const { records } = loaded.window;
    span.setAttributes({ 'spillway.window.records': records.length, 'spillway.window.bytes': loaded.bytes });
    return loaded;
  });
  // The view omits a torn line in its place; the operator is notified once a message.
  const { head, records } = loadedSession.window;
  const torn = [head, ...records].filter((record) => record?.t === 'torn').length;
  const events = [{ event: 'session.torn', records: torn } as const];
  if (torn > 0) await commit(turn, { step: `torn:${turn.session}`, events });
  return hideEarlierTry(turn, loadedSession);
}

const PUT_BACK = '[This message failed, and stands again below. What was done for it before that follows.]';

/**
 * Hides the earlier try of a message that failed and was put back: the message stands at the end now. The calls of tools
 * that were made for it stay, so that they are not made again. Contract: throws `FencedError`, or what Redis throws.
 */
async function hideEarlierTry(turn: Turn, loadedSession: LoadedSession): Promise<LoadedSession> {
  const { replayOf: entry, keys, session } = turn;
  const { records } = loadedSession.window;
  const step = `hidden:${session}`;
  const own = records.filter((record) => 'entry' in record && record.entry === entry);
  if (entry === undefined || !own.some(({ t }) => t === 'user') || turn.hasDone(step)) return loadedSession;
  const hasActed = own.some((record) => record.t === 'assistant' && hasCalls(record.content));
  const hidden = hasActed ? { text: PUT_BACK } : { text: '', turn: true };
  // Thinking is bound to all that stood before it.
  const added: LogRecord[] = [{ v: 1, t: 'scrub', ...newStamp(), entry, ...hidden }, trimOf('thinking', records)];
  await turn.write(step, append(keys, session, added));
  return added.reduce(withRecord, loadedSession);
}

/** The message as the log keeps it. */
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
