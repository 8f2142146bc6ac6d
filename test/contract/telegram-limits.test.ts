import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';
import { Floods } from '../stand-in/telegram/floods.ts';
import type { RefusedError } from '../stand-in/telegram/refusal.ts';

const GROUP = -100_500;
const MB = 1024 * 1024;

/** Calls against a clock of one's own: how long to wait, 0 for a call that goes through. */
function flooding() {
  let now = 1_000_000;
  const floods = new Floods(() => now);
  return {
    wait: (ms: number) => {
      now += ms;
    },
    take(method: string, chat_id: number | string): number {
      try {
        floods.take(method, { chat_id });
        return 0;
      } catch (error) {
        return Number((error as RefusedError).refusal.parameters?.retry_after);
      }
    },
  };
}

test('one message a second goes through in a chat, with a burst of five', () => {
  const { take, wait } = flooding();
  expect(Array.from({ length: 6 }, () => take('sendMessage', CHAT))).toEqual([0, 0, 0, 0, 0, 5]);
  wait(4_999);
  expect(take('sendMessage', CHAT)).toBe(1);
  wait(1);
  expect(take('sendMessage', CHAT)).toBe(0);
  const steady = flooding();
  for (let second = 0; second < 100; second += 1) {
    expect(steady.take('sendMessage', CHAT)).toBe(0);
    steady.wait(1_000);
  }
});

test('a group takes 20 messages and edits a minute', () => {
  const { take, wait } = flooding();
  for (let index = 0; index < 20; index += 1) {
    expect(take(index % 2 ? 'editMessageText' : 'sendRichMessage', GROUP)).toBe(0);
    wait(1_000);
  }
  expect(take('editMessageText', GROUP)).toBe(40);
  expect(take('sendMessage', GROUP - 1)).toBe(0);
  wait(40_000);
  expect(take('sendDocument', GROUP)).toBe(0);
});

test('a bot sends 30 messages a second, and polls, typing and answers are not counted', () => {
  const { take } = flooding();
  for (let chat = 1; chat <= 30; chat += 1) expect(take('SendMessage', String(chat))).toBe(0);
  expect(take('sendMessage', 31)).toBe(1);
  for (const method of ['getUpdates', 'sendChatAction', 'answerCallbackQuery']) expect(take(method, 1)).toBe(0);
});

test('plain and rich drafts of a chat share an allowance, which is not the one of its messages', () => {
  const { take } = flooding();
  const drafts = [
    'sendMessageDraft',
    'sendRichMessageDraft',
    'sendMessageDraft',
    'sendMessageDraft',
    'sendMessageDraft',
  ];
  for (const method of drafts) expect(take(method, CHAT)).toBe(0);
  expect(take('sendRichMessageDraft', CHAT)).toBe(5);
  expect(take('sendMessage', CHAT)).toBe(0);
});

test('with floods a call too many is answered with 429 and has no effect, without them none is', async () => {
  const flooded = await startBot({ floods: true });
  const text = { chat_id: CHAT, text: 'a' };
  for (let index = 0; index < 5; index += 1) await flooded.send('sendMessage', text);
  const answer = await flooded.call('sendMessage', text);
  expect(answer).toEqual({
    ok: false,
    error_code: 429,
    description: expect.stringMatching(/^Too Many Requests: retry after [1-5]$/),
    parameters: { retry_after: expect.any(Number) },
  });
  expect(flooded.telegram.shown(CHAT)).toHaveLength(5);
  const calm = await startBot();
  for (let index = 0; index < 8; index += 1) await calm.send('sendMessage', text);
});

test('an unknown method is answered with 404, and an unknown parameter is ignored and kept in the calls', async () => {
  const { telegram, call, send } = await startBot();
  expect(await call('sendRocket')).toEqual({ ok: false, error_code: 404, description: 'Not Found: method not found' });
  await send('sendMessage', { chat_id: CHAT, text: 'a', sparkle: 'much' });
  expect(telegram.shown(CHAT)).toMatchObject([{ text: 'a' }]);
  expect(telegram.calls.at(-1)?.params).toEqual({ chat_id: CHAT, text: 'a', sparkle: 'much' });
});

test('sendDocument takes 50 MB and not one byte more', async () => {
  const { telegram } = await startBot();
  const upload = async (bytes: number) => {
    const form = new FormData();
    form.set('chat_id', String(CHAT));
    form.set('document', new Blob([Buffer.alloc(bytes)]), 'a.bin');
    const answer = await fetch(`${telegram.url}/bot${telegram.token}/sendDocument`, { method: 'POST', body: form });
    return (await answer.json()) as object;
  };
  expect(await upload(50 * MB)).toMatchObject({ ok: true });
  const tooLarge = { ok: false, error_code: 413, description: 'Request Entity Too Large' };
  expect(await upload(50 * MB + 1)).toEqual(tooLarge);
  expect(await upload(52 * MB)).toEqual(tooLarge);
  expect(telegram.shown(CHAT)).toMatchObject([{ document: { name: 'a.bin', bytes: 50 * MB } }]);
});
