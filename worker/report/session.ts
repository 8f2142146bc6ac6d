import { clip, thousands } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import { type ChatKey, keysOf, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import { sessionOf } from '../../shared/state/chat/chat.ts';
import { endsOfLog, readHeader } from '../../shared/state/session/header.ts';
import { createChatState } from '../command/chat-state.ts';
import { decodeRecord, textOf } from '../session/record.ts';
import { chatName, compact, fact, type ReadReport, type Section, sessionName, UnknownName } from './report.ts';

const RECORDS_SHOWN = 6;
const CHARS_SHOWN = 160;

/** The report `session show`: one session of a chat, by default the present one. */
export const showSession: ReadReport = async ({ redis, shards }, { words: [argument = ''], content }) => {
  const [word = '', sessionId] = argument.split('/', 2);
  const { chat, chatId } = parseChatKey(word) ?? { chat: word as ChatKey, chatId: 0 };
  const keys = keysOf(shardOf(chatId, shards));
  const id = (sessionId as SessionId | undefined) ?? (await sessionOf(redis, keys, chat));
  if (id === undefined) throw new UnknownName(`Chat ${chat} has no session yet.`);
  const { records, createdAt, windowStart, parent, limitTokens, stored } = await readHeader(redis, keys, id);
  if (records === 0 && createdAt === undefined) throw new UnknownName(`There is no stored session ${id}.`);
  const { messages, bytes, tokens, sinceMs, compactedMs } = await createChatState(redis, keys).session(id);
  const newest = content ? (await endsOfLog(redis, keys, id, RECORDS_SHOWN)).newest : [];
  const moment = (ms: number | undefined) => (ms === undefined ? 'never' : utcTime(ms));
  const facts = [
    fact('Chat', chatName(chat)),
    fact('Messages', messages, `records: ${records}, ${(bytes / 1e6).toFixed(2)} MB`),
    fact('Tokens', thousands(tokens), 'of its newest request'),
    fact('Began', moment(sinceMs)),
    fact('Compacted', moment(compactedMs), `window from record ${windowStart}`),
    fact('Window', limitTokens === undefined ? 'as the model states it' : `${limitTokens} tokens`),
    fact('Continues', parent === undefined ? 'none' : sessionName(chat, parent)),
  ];
  return {
    report: {
      title: `Session ${id}`,
      nowMs: Date.now(),
      sections: compact<Section>(
        { facts },
        newest.length > 0 && { title: 'Newest records', quote: newest.map(beginningOf).join('\n') },
      ),
    },
    json: { chat, session: id, ...stored, records },
  };
};

function beginningOf(line: string): string {
  const record = decodeRecord(line) as { t: string; at: string; content?: never; text?: string; summary?: string };
  const { t, at, content, text, summary = '' } = record;
  const words = content === undefined ? (text ?? summary) : textOf(content);
  return `${at} ${t}: ${clip(words.replace(/\s+/g, ' '), CHARS_SHOWN)}`;
}
