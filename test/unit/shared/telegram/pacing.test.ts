import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { pause } from '../../../../shared/base/lifecycle.ts';
import type { Telegram } from '../../../../shared/telegram/client.ts';
import { type AskPlace, PACE, paceTelegram } from '../../../../shared/telegram/pacing.ts';
import { seededRandom } from '../../../fixture/random.ts';
import { forCasesAsync } from '../../../fixture/texts.ts';

const SENT = { ok: true, value: { messageId: 1 } } as const;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** One process asks nobody. */
const nobody: AskPlace = () => Promise.reject(new Error('asked'));

/** The most calls that fell into any time of that length. */
function mostWithin(ms: number, times: readonly number[]): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));
}

test("whoever sends whatever, no limit of Telegram's is broken, and everything is sent", async () => {
  const { sent, telegram } = fleet();
  const random = seededRandom(7);
  const chats = [...Array.from({ length: 40 }, (_, at) => at + 1), -1, -2];
  const all = Array.from({ length: 600 }, () => {
    const chatId = chats[Math.floor(random() ** 2 * chats.length)] ?? -1;
    return telegram.sendMessage({ chatId }, 'x');
  });
  await jest.advanceTimersByTimeAsync(1_200_000);
  await Promise.all(all);
  expect(sent).toHaveLength(600);
  const timesOf = (calls: typeof sent) => calls.map(({ at }) => at);
  expect(mostWithin(1_000, timesOf(sent))).toBeLessThanOrEqual(30);
  for (const chat of chats) {
    const times = timesOf(sent.filter(({ chatId }) => chatId === chat));
    expect(mostWithin(5_000, times)).toBeLessThanOrEqual(5);
    if (chat < 0) expect(mostWithin(60_000, times)).toBeLessThanOrEqual(20);
  }
});

test('in a group each picture of an album counts as a message', async () => {
  const { sent, telegram } = fleet();
  const photos = Array.from({ length: 8 }, () => ({ name: 'a.png', bytes: Buffer.alloc(1), caption: '' }));
  for (let at = 0; at < 6; at++) void telegram.sendAlbum({ chatId: -1 }, photos);
  await jest.advanceTimersByTimeAsync(400_000);
  const times = sent.map(({ at }) => at);
  expect(times).toHaveLength(48);
  // It goes out at the last of its places: a few seconds after the first one was free.
  expect(mostWithin(50_000, times)).toBeLessThanOrEqual(20);
});

test('a chat that sends much holds up no other', async () => {
  const { sent, telegram } = fleet();
  for (let at = 0; at < 50; at++) void telegram.sendMessage({ chatId: 1 }, 'x');
  void telegram.sendMessage({ chatId: 2 }, 'x');
  await jest.advanceTimersByTimeAsync(10);
  expect(sent.filter(({ chatId }) => chatId === 2)).toHaveLength(1);
});

test('a short burst in a chat goes out at once, and "typing…" never waits', async () => {
  const { sent, telegram } = fleet();
  for (let at = 0; at < 5; at++) void telegram.sendMessage({ chatId: 1 }, 'x');
  for (let at = 0; at < 50; at++) void telegram.sendTyping({ chatId: 1 });
  await jest.advanceTimersByTimeAsync(0);
  expect(sent).toHaveLength(55);
});

test('several processes share what all may send', async () => {
  const { sent, telegram } = fleet(4);
  for (let chatId = 1; chatId <= 30; chatId++) void telegram.sendMessage({ chatId }, 'x');
  await jest.advanceTimersByTimeAsync(999);
  expect(sent).toHaveLength(6);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(sent).toHaveLength(30);
});

const GROUP = -1001;
const MINUTE_MS = 60_000;
const FARTHER_MS = 5;
const { limit, interval } = PACE.groupOfAll;

/** A message of a process: to whom, which of its messages, when it was its turn in that process, and when it went out. */
interface Sent {
  chatId: number;
  process: number;
  nth: number;
  readyAt: number;
  at: number;
}

/** Windows that begin with their first call, as the limiter in Redis counts them. */
function windows(): AskPlace {
  let endsAt = 0;
  let used = 0;
  return async () => {
    if (Date.now() >= endsAt) [endsAt, used] = [Date.now() + interval, 0];
    used += 1;
    return used <= limit ? 0 : endsAt - Date.now();
  };
}

/** Processes that send over one count of a group's calls, from which each is farther than the one before. */
function fleet(size = 1) {
  const askPlace = size === 1 ? nobody : windows();
  const sent: Sent[] = [];
  const processes = Array.from({ length: size }, (_, process) => {
    let lastAt = 0;
    const send = async ({ chatId }: { chatId: number }, nth?: string) => {
      sent.push({ chatId, process, nth: Number(nth), readyAt: lastAt, at: Date.now() });
      lastAt = Date.now();
      return SENT;
    };
    const sendAlbum = async (to: { chatId: number }, photos: readonly unknown[]) => {
      for (const nth of photos.keys()) await send(to, String(nth));
      return SENT;
    };
    const telegram = { botId: 1, sendMessage: send, sendAlbum, sendTyping: send } as unknown as Telegram;
    const askFrom: AskPlace = async (chatId) => {
      await pause(process * FARTHER_MS);
      return askPlace(chatId);
    };
    return paceTelegram(telegram, () => size, askFrom);
  });
  return { sent, processes, telegram: processes[0] as Telegram };
}

/** The most calls that windows of this kind let into any time of that length: all that begin in it, and the rest of one. */
function mostOf(calls: number, windowMs: number, withinMs: number): number {
  return calls * Math.ceil(withinMs / windowMs) + calls - 1;
}

test('the windows let no more into a minute than one process would, and no others let as many through in the long run', () => {
  const { limit: most, interval: withinMs } = PACE.group;
  const kinds = Array.from({ length: most }, (_, at) => at + 1).flatMap((calls) =>
    Array.from({ length: 61 }, (_, at) => ({ calls, windowMs: (at + 1) * 1_000 })),
  );
  const allowed = kinds.filter(({ calls, windowMs }) => mostOf(calls, windowMs, withinMs) <= most);
  const rates = allowed.map(({ calls, windowMs }) => calls / windowMs);
  expect(allowed).toContainEqual({ calls: limit, windowMs: interval });
  expect(Math.max(...rates)).toBe(limit / interval);
});

const sends = fc.array(fc.record({ process: fc.nat(3), atMs: fc.nat(MINUTE_MS / 2) }), {
  minLength: 40,
  maxLength: 80,
});

test('whichever processes send when, a group gets 19 in 61 seconds at most, each process sends in order, and none starves', async () => {
  await forCasesAsync(30, [fc.integer({ min: 2, max: 4 }), sends], async (size, all) => {
    const { sent, processes } = fleet(size);
    const since = Date.now();
    const asked = all.toSorted((one, other) => one.atMs - other.atMs);
    const ofProcess = processes.map((_, at) => asked.filter(({ process }) => process % size === at));
    for (const [process, own] of ofProcess.entries())
      for (const [nth, { atMs }] of own.entries())
        setTimeout(() => void processes[process]?.sendMessage({ chatId: GROUP }, String(nth)), atMs);
    await jest.advanceTimersByTimeAsync(8 * MINUTE_MS);
    expect(sent).toHaveLength(all.length);
    const times = sent.map(({ at }) => at);
    expect(mostWithin(PACE.group.interval, times)).toBeLessThanOrEqual(PACE.group.limit);
    expect(mostWithin(PACE.chat.interval, times)).toBeLessThanOrEqual(PACE.chat.limit);
    for (const [process, own] of ofProcess.entries()) {
      const went = sent.filter((each) => each.process === process);
      expect(went.map(({ nth }) => nth)).toEqual([...own.keys()]);
      for (const { nth, readyAt, at } of went) {
        const firstAt = Math.max(readyAt, since + (own[nth]?.atMs ?? 0));
        expect(at - firstAt).toBeLessThanOrEqual(size * (interval + 1_000));
      }
    }
  });
});

test('an album larger than a window goes out, and takes a place for each picture', async () => {
  const { sent, telegram } = fleet(2);
  const photos = Array.from({ length: 10 }, () => ({ name: 'a.png', bytes: Buffer.alloc(1), caption: '' }));
  void telegram.sendAlbum({ chatId: GROUP }, photos);
  await jest.advanceTimersByTimeAsync(0);
  expect(sent).toHaveLength(0);
  await jest.advanceTimersByTimeAsync((photos.length / limit) * (interval + 500));
  expect(sent).toHaveLength(10);
});

test('a chat that is no group asks for no place', async () => {
  const { sent, processes } = fleet(2);
  for (const process of processes) for (let each = 0; each < 3; each++) void process.sendMessage({ chatId: 1 }, 'x');
  await jest.advanceTimersByTimeAsync(0);
  expect(sent).toHaveLength(6);
});

test('a process that is left alone asks no more', async () => {
  let size = 2;
  const asked: number[] = [];
  const telegram = { botId: 1, sendMessage: async () => ({ ok: true }) } as unknown as Telegram;
  const paced = paceTelegram(
    telegram,
    () => size,
    async (chatId) => asked.push(chatId),
  );
  const done = paced.sendMessage({ chatId: GROUP }, 'x');
  await jest.advanceTimersByTimeAsync(0);
  size = 1;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(await done).toEqual({ ok: true });
  expect(asked).toEqual([GROUP]);
});
