import { utcTime } from '../../shared/base/utc-time.ts';
import { type ChatKey, keysOf, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import { readHeader } from '../../shared/state/session/header.ts';
import { createChatState, type SessionState } from '../command/chat-state.ts';
import { chatName, type Name, type Report, type ReportSource } from './report.ts';
import { thousands } from './words.ts';

/** What one session of a chat is made of. It holds no words of it. */
export interface SessionReport extends SessionState {
  id: SessionId;
  chat: ChatKey;
  /** The session that it continues. */
  parent?: SessionId;
}

/** Reads a session of a chat; `undefined` where nothing is kept of it. */
export async function readSessionOf(
  { redis, shards }: ReportSource,
  chat: ChatKey,
  id: SessionId,
): Promise<SessionReport | undefined> {
  const keys = keysOf(shardOf(parseChatKey(chat)?.chatId ?? 0, shards));
  const { records, createdAt, parent } = await readHeader(redis, keys, id);
  if (records === 0 && createdAt === undefined) return undefined;
  const state = await createChatState(redis, keys).session(id);
  return { ...state, id, chat, ...(parent !== undefined && { parent: parent as SessionId }) };
}

/** The name of a session, which leads to its report. */
export function sessionName(chat: ChatKey, id: SessionId): Name {
  return { of: 'session', id: `${chat}/${id}`, text: id };
}

/** One session: how large it is, since when, and what it continues. Pure. */
export function sessionReport(report: SessionReport, nowMs: number): Report {
  const { id, chat, messages, bytes, tokens, sinceMs, compactedMs, parent } = report;
  const moment = (ms: number | undefined) => (ms === undefined ? 'never' : utcTime(ms));
  return {
    title: `Session ${id}`,
    nowMs,
    sections: [
      {
        facts: [
          { name: 'Chat', value: chatName(chat) },
          { name: 'Messages', value: messages, note: `${(bytes / 1e6).toFixed(2)} MB` },
          { name: 'Tokens', value: thousands(tokens), note: 'of its newest request' },
        ],
      },
      {
        title: 'Its time',
        facts: [
          { name: 'Began', value: moment(sinceMs) },
          { name: 'Compacted', value: moment(compactedMs) },
          { name: 'Continues', value: parent === undefined ? 'none' : sessionName(chat, parent) },
        ],
      },
    ],
  };
}
