import { expect, test } from '@jest/globals';
import type { Gate } from '../../../../producer/accept/gate.ts';
import { isStop, readStop } from '../../../../producer/accept/read-update.ts';
import { decodeMessage, encodeMessage } from '../../../../shared/flow/message.ts';

const USER = 1001;
const GATE: Gate = { allowed: new Set([USER]), answersAll: new Set(), bot: { id: 7, name: 'spillway_bot' } };
const pressed = (stop: unknown) => ({ update_id: 5, stopped_message_generation: stop });
const chat = { id: USER, type: 'private' };

test('a press of the stop button is the message /stop of its chat and topic', () => {
  const read = readStop(pressed({ chat, message_thread_id: 3, draft_id: 77 }), GATE, 1_000);
  if (!read.accept) throw new Error(read.reason);
  expect(read.message).toEqual({
    v: 1,
    updateId: 5,
    chatId: USER,
    topicId: 3,
    chatType: 'private',
    messageId: 77,
    from: { id: USER },
    sentAtMs: 1_000,
    content: { kind: 'text', text: '/stop' },
  });
  expect(decodeMessage(encodeMessage(read.message))).toEqual({ ok: true, value: read.message });
});

test('a press in a chat that is not allowed is ignored', () => {
  const read = readStop(pressed({ chat: { id: 666 }, draft_id: 77 }), GATE, 1_000);
  expect(read).toEqual({ accept: false, reason: 'not_allowed' });
});

test.each<[string, unknown]>([
  ['nothing', null],
  ['no chat', { draft_id: 1 }],
  ['a chat without an id', { chat: {}, draft_id: 1 }],
  ['no draft', { chat }],
  ['a text as the draft', { chat, draft_id: '77' }],
])('a press with %s is malformed', (_, stop) => {
  expect(readStop(pressed(stop), GATE, 1_000)).toEqual({ accept: false, reason: 'malformed' });
});

test('only a press is one', () => {
  expect([isStop(pressed({})), isStop({ update_id: 5, message: {} }), isStop(null), isStop('x')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
