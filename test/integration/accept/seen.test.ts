import { beforeEach, expect, test } from '@jest/globals';
import { createInbox, type Inbox } from '../../../shared/state/message/inbox.ts';
import { eachWithRedis, keys, redis } from '../../fixture/each-redis.ts';
import { inboundText } from '../../fixture/inbound.ts';

const BOT = 7;
const REMEMBERED_S = 48 * 3600;

let inbox: Inbox;

eachWithRedis();
beforeEach(() => {
  inbox = createInbox(redis, 1);
});

const accept = (updateId: number) => inbox.accept(BOT, inboundText(updateId), '');

test('an update that comes again gets its first entry, and stands on the stream once', async () => {
  const first = await accept(500);
  expect(await accept(500)).toEqual({ entry: first.entry, duplicate: true });
  expect((await accept(501)).duplicate).toBe(false);
  expect(await redis.xlen(keys.inbound)).toBe(2);
});

test('updates are remembered for 48 hours after the last one of their bucket', async () => {
  await accept(512);
  await redis.expire(keys.updates(BOT, 512), 60);
  await accept(513);
  expect(keys.updates(BOT, 513)).toBe(keys.updates(BOT, 512));
  expect(await redis.ttl(keys.updates(BOT, 512))).toBeGreaterThan(REMEMBERED_S - 10);
});

test('two bots with the same update ids do not take away from each other', async () => {
  await accept(1);
  expect((await inbox.accept(BOT + 1, inboundText(1), '')).duplicate).toBe(false);
});

test('an edit that became a message of its own is known as an update, too', async () => {
  const edit = () => inbox.edit(BOT, inboundText(77), '', true);
  const { entry } = await edit();
  expect(await edit()).toEqual({ result: 'repeated', entry });
  expect(await accept(77)).toEqual({ entry, duplicate: true });
});

test('an update is remembered in a quarter of what a key of its own takes', async () => {
  const updates = 1_024;
  for (let each = 0; each < updates; each++) await accept(4_096 + each);
  const bytesOf = async (key: string) => Number(await redis.memory('USAGE', key));
  const buckets = new Set(Array.from({ length: updates }, (_, each) => keys.updates(BOT, 4_096 + each)));
  await redis.set('a-key-of-its-own:4096', '1700000000000-0', 'EX', REMEMBERED_S);
  let bytes = 0;
  for (const bucket of buckets) {
    expect(await redis.object('ENCODING', bucket)).toMatch(/listpack|ziplist/);
    bytes += await bytesOf(bucket);
  }
  expect((bytes / updates) * 4).toBeLessThan(await bytesOf('a-key-of-its-own:4096'));
});
