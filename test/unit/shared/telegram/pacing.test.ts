import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Telegram } from '../../../../shared/telegram/client.ts';
import { type AskPlace, paceTelegram } from '../../../../shared/telegram/pacing.ts';
import { seededRandom } from '../../../fixture/random.ts';

const SENT = { ok: true, value: { messageId: 1 } } as const;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** One process asks nobody. */
const nobody: AskPlace = () => Promise.reject(new Error('asked'));

/** A Telegram that notes when each chat got something. */
function noted(processes = () => 1, askPlace = nobody) {
  const sent: { chatId: number; at: number }[] = [];
  const send = async ({ chatId }: { chatId: number }) => {
    sent.push({ chatId, at: Date.now() });
    return SENT;
  };
  const sendAlbum = async (to: { chatId: number }, photos: readonly unknown[]) => {
    for (const _ of photos) await send(to);
    return SENT;
  };
  const port = { botId: 1, sendMessage: send, sendAlbum, sendTyping: send, editMessage: send } as unknown as Telegram;
  return { sent, telegram: paceTelegram(port, processes, askPlace) };
}

/** The most calls that fell into any time of that length. */
function mostWithin(ms: number, times: readonly number[]): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));
}

test("whoever sends whatever, no limit of Telegram's is broken, and everything is sent", async () => {
  const { sent, telegram } = noted();
  const random = seededRandom(7);
  const chats = [...Array.from({ length: 40 }, (_, at) => at + 1), -1, -2];
  const all = Array.from({ length: 600 }, () => {
    const chatId = chats[Math.floor(random() ** 2 * chats.length)] ?? -1;
    return telegram.sendMessage({ chatId }, 'x');
  });
  await jest.advanceTimersByTimeAsync(1_200_000);
  await Promise.all(all);
  expect(sent).toHaveLength(600);
  expect(
    mostWithin(
      1_000,
      sent.map(({ at }) => at),
    ),
  ).toBeLessThanOrEqual(30);
  for (const chat of chats) {
    const times = sent.filter(({ chatId }) => chatId === chat).map(({ at }) => at);
    expect(mostWithin(5_000, times)).toBeLessThanOrEqual(5);
    if (chat < 0) expect(mostWithin(60_000, times)).toBeLessThanOrEqual(20);
  }
});

test('in a group each picture of an album counts as a message', async () => {
  const { sent, telegram } = noted();
  const photos = Array.from({ length: 8 }, () => ({ name: 'a.png', bytes: Buffer.alloc(1), caption: '' }));
  for (let at = 0; at < 6; at++) void telegram.sendAlbum({ chatId: -1 }, photos);
  await jest.advanceTimersByTimeAsync(400_000);
  const times = sent.map(({ at }) => at);
  expect(times).toHaveLength(48);
  // It goes out at the last of its places: a few seconds after the first one was free.
  expect(mostWithin(50_000, times)).toBeLessThanOrEqual(20);
});

test('a chat that sends much holds up no other', async () => {
  const { sent, telegram } = noted();
  for (let at = 0; at < 50; at++) void telegram.sendMessage({ chatId: 1 }, 'x');
  void telegram.sendMessage({ chatId: 2 }, 'x');
  await jest.advanceTimersByTimeAsync(10);
  expect(sent.filter(({ chatId }) => chatId === 2)).toHaveLength(1);
});

test('a short burst in a chat goes out at once, and "typing…" never waits', async () => {
  const { sent, telegram } = noted();
  for (let at = 0; at < 5; at++) void telegram.sendMessage({ chatId: 1 }, 'x');
  for (let at = 0; at < 50; at++) void telegram.sendTyping({ chatId: 1 });
  await jest.advanceTimersByTimeAsync(0);
  expect(sent).toHaveLength(55);
});

test('several processes share what all may send', async () => {
  const { sent, telegram } = noted(() => 4);
  for (let chatId = 1; chatId <= 30; chatId++) void telegram.sendMessage({ chatId }, 'x');
  await jest.advanceTimersByTimeAsync(999);
  expect(sent).toHaveLength(6);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(sent).toHaveLength(30);
});
