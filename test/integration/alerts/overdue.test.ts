import { expect, test } from '@jest/globals';
import { createHeartbeat } from '../../../shared/state/process/receiver.ts';
import { telegramState } from '../../../shared/state/telegram/telegram.ts';
import { findFor, runAct } from '../../../worker/operator/act.ts';
import { ACTS } from '../../../worker/operator/acts.ts';
import type { ReportContext } from '../../../worker/report/report.ts';
import { createSnapshotReader } from '../../../worker/watch/snapshot.ts';
import { eachWithRedis, keys, redis } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { until } from '../../fixture/root.ts';
import {
  bookField,
  given,
  givenRead,
  HOUR_MS,
  listener,
  reported,
  UNANSWERED_MS,
  watch,
} from '../../fixture/watchdog.ts';

eachWithRedis();

const snapshot = (nowMs = Date.now()) => createSnapshotReader(redis, 1, UNANSWERED_MS)({ nowMs, open: new Set() });

test('a paused chat with 2,500 messages hides no other, and holds back no ping by itself; a stuck chat does', async () => {
  const outside = await listener();
  await redis.hset(keys.paused, '7', '{}');
  await given('7', 2_500);
  await givenRead();
  createHeartbeat(redis, keys, keptLog().log, 0).answered();
  watch({ deadManUrl: outside.url });
  await reported(/^An operator has paused chats with waiting messages: 2,500 messages of 1 chat\./m);
  const calm = outside.pings();
  await until('a ping', () => outside.pings() > calm || undefined);
  await given('8', 3, 3_000);
  await givenRead();
  const text = await reported(/waited too long/);
  expect(text).toMatch(
    /\n3 messages of 1 chat since .*\n.*Waiting in all: 2,503 messages\.\n(?:.*\n)*Oldest message: .* of chat 8\n/,
  );
  // One may have been on its way.
  const silentFrom = outside.pings();
  await until('a later check', async () => {
    const { lastMs, openedMs } = JSON.parse(String(await bookField('incident:unanswered')));
    return lastMs - openedMs > 3_500 || undefined;
  });
  expect(outside.pings() - silentFrom).toBeLessThanOrEqual(1);
});

test('every lane is looked at, in slices, and each counts exactly', async () => {
  const chats = Array.from({ length: 2_300 }, (_, n) => String(n + 1));
  const nowMs = Date.now();
  const old = nowMs - HOUR_MS;
  const young = nowMs + 1 - UNANSWERED_MS;
  const pipeline = redis.pipeline();
  const add = (chat: string, id: string) => {
    pipeline.xadd(keys.inbound, id, 'chat', chat, 'message', '{}');
    pipeline.rpush(keys.lane(chat as never), id).sadd(keys.lanes, chat);
  };
  for (const chat of chats) add(chat, `${old + Number(chat)}-0`);
  for (const chat of chats) add(chat, `${young}-${chat}`);
  await pipeline.exec();
  await givenRead();
  const { shards } = await snapshot(nowMs);
  expect(shards[0]?.overdue).toMatchObject({ messages: 2_300, chats: 2_300, oldest: { chat: '1' } });
});

test('an answered message hides none that waits behind it, and one that is in no lane yet counts', async () => {
  const [first = '', second = ''] = await given('7', 2);
  await givenRead();
  await redis.hset(keys.turn(first as never), 'replied', '1');
  expect((await snapshot()).shards[0]?.overdue).toMatchObject({ messages: 1, oldest: { entry: second } });
  await redis.xdel(keys.inbound, second);
  expect((await snapshot()).shards[0]?.overdue).toEqual({ messages: 0, chats: 0 });
  await redis.hset(keys.paused, '*', '{}');
  await redis.xadd(keys.inbound, `${Date.now() - 10_000}-1`, 'chat', '9', 'message', '{}');
  expect((await snapshot()).shards[0]?.overdue).toMatchObject({ messages: 1, oldest: { chat: '9' } });
});

test("Redis' clock steps forward by 50 minutes: nothing is overdue that was not, and no poll seems to be missing", async () => {
  const stepMs = 3_000_000;
  await given('7', 1, 0);
  await givenRead();
  createHeartbeat(redis, keys, keptLog().log, 0).answered();
  await until('a heartbeat', async () => (await redis.hget(keys.poll, 'lastAnswerMs')) ?? undefined);
  const read = createSnapshotReader(redis, 1, UNANSWERED_MS);
  await read({ nowMs: Date.now(), open: new Set() });
  const stepped = await read({ nowMs: Date.now() + stepMs, open: new Set() });
  expect(stepped.shards[0]?.overdue.messages).toBe(0);
  expect(stepped.nowMs - (stepped.poll?.lastAnswerMs ?? 0)).toBeLessThan(60_000);
  const overdue = async () => {
    const { shards, nowMs } = await read({ nowMs: Date.now() + stepMs, open: new Set() });
    const { oldest } = shards[0]?.overdue ?? {};
    return oldest && nowMs - oldest.acceptedMs;
  };
  expect(await until('age', overdue)).toBeLessThan(60_000);
});

test('what waited for a pause is not overdue as soon as that ends; when nothing happens, it is', async () => {
  await given('7', 2);
  await given('8', 1);
  await givenRead();
  await redis.hset(keys.paused, { '7': '{}', '*': '{}' });
  const at = { redis, shards: 1 } as ReportContext;
  const overdue = async () => (await snapshot()).shards[0]?.overdue.messages;
  const resume = async (chat: string) =>
    runAct(at, ACTS.resume, await findFor(at, ACTS.resume, chat), { by: 'ann', why: '' });
  await resume('*');
  expect(await overdue()).toBe(0);
  await until('chat 8 to be overdue', async () => (await overdue()) === 1 || undefined);
  await resume('7');
  expect(await overdue()).toBe(1);
  await until('both to be overdue', async () => (await overdue()) === 3 || undefined);
});

test('a message that comes while the clock is behind is not taken for one that waits since its id was first seen', async () => {
  const [first = ''] = await given('7', 1, -HOUR_MS);
  await givenRead();
  const read = createSnapshotReader(redis, 1, UNANSWERED_MS);
  const overdue = async () => (await read({ nowMs: Date.now(), open: new Set() })).shards[0]?.overdue.messages;
  expect(await overdue()).toBe(0);
  await until('age', async () => ((await overdue()) === 1 ? true : undefined));
  await redis.xdel(keys.inbound, first);
  await redis.del(keys.lane('7' as never));
  // Redis gives it the same ms, since ids never go back.
  const next = String(await redis.xadd(keys.inbound, '*', 'chat', '8', 'message', '{}'));
  expect(next.split('-')[0]).toBe(first.split('-')[0]);
  await redis.rpush(keys.lane('8' as never), next);
  await redis.sadd(keys.lanes, '8');
  await givenRead();
  expect(await overdue()).toBe(0);
  await until('age', async () => ((await overdue()) === 1 ? true : undefined));
});

test('a Telegram that was away too briefly for an incident hides no message that waits', async () => {
  const telegram = telegramState(redis, keptLog().log, { telegramPauseMs: 1_000, telegramPauseMsMax: 1_000 });
  for (let doubt = 1; doubt <= 3; doubt++) await telegram.doubted('no answer');
  expect((await telegram.confirmed()).awayMs).toBe(0);
  await given('8', 3);
  await givenRead();
  watch();
  expect(await reported(/waited too long/)).toContain('3 messages of 1 chat');
});
