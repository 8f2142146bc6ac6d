/** The evidence of a run in which all is as it should be, for tests that take something away. */
import type { ClaudeCall } from '../stand-in/claude/reaction.ts';
import type { Message } from '../stand-in/claude/request.ts';
import type { ShownMessage } from '../stand-in/telegram/chats.ts';
import type { TelegramCall } from '../stand-in/telegram/server.ts';
import type { Evidence } from './evidence.ts';
import type { Asked } from './traffic.ts';

/** The only chat. */
export const CHAT = 1001;
/** A trace id. */
export const TRACE = 'a'.repeat(32);

/** The nth question. */
export const question = (number: number): Asked => ({
  number,
  chatId: CHAT,
  kind: 'text',
  text: `[m00000${number}] lane entry?`,
  updateId: 500 + number,
  atMs: 0,
});

/** A text that stands in the chat. */
export const shown = (messageId: number, text: string, at = messageId * 100): ShownMessage => ({
  messageId,
  text,
  at,
  edits: 0,
});

/** The answer to the nth question, as it stands in the chat. */
export const answer = (number: number, messageId = number): ShownMessage =>
  shown(messageId, `<#00000${number} 1/1> Here.`);

/** What the user said, in a request. */
export const user = (content: string): Message => ({ role: 'user', content });
/** What the model said to the nth question, in a request. */
export const reply = (number: number): Message => ({ role: 'assistant', content: answer(number).text });

/** What the model is shown of a chat when it is asked that question. */
export const conversation = (number: number): Message[] => [
  ...Array.from({ length: number - 1 }, (_, index) => [user(question(index + 1).text), reply(index + 1)]).flat(),
  user(question(number).text),
];

/** The call about the nth question. */
export const call = (number: number, at = number * 100 - 50, endedAt = at + 20): ClaudeCall => ({
  index: number,
  at,
  endedAt,
  kind: 'main',
  body: { model: 'm', max_tokens: 1, messages: conversation(number) },
  inputTokens: 1,
  pendingText: question(number).text,
  reaction: 'answer',
  status: 200,
  requestId: 'r',
});

/** A message that was sent to the chat. */
export const sent = (text: string, at: number, status = 200): TelegramCall => ({
  at,
  method: 'sendMessage',
  params: { chat_id: CHAT, text },
  ok: true,
  status,
});

/** The nth question's line of the ledger. */
export const line = (number: number, outcome = 'answered') => ({
  entry: `${number}-0`,
  chat: String(CHAT),
  outcome,
  traceId: TRACE,
});

/** Two messages of one chat, each answered once, in order. */
export function sound(): Evidence {
  return {
    asked: [question(1), question(2)],
    confirmedUpTo: 502,
    calls: [call(1), call(2)],
    shown: new Map([[CHAT, [answer(1), answer(2)]]]),
    telegramCalls: [sent('<#000001 1/1> Here.', 100), sent('<#000002 1/1> Here.', 200)],
    alerts: [],
    uncleanEnds: [],
    ledger: [line(1), line(2)],
    entryOf: new Map([
      [501, '1-0'],
      [502, '2-0'],
    ]),
    left: [],
    faults: [],
    cut: { accepts: new Set(), outcomes: new Set() },
    waits: [],
    quiet: [],
    drainMs: 10,
  };
}
