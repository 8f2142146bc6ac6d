import { expect, test } from '@jest/globals';
import { keysOf } from '../../../shared/redis/keys.ts';
import { createSlots } from '../../../worker/lane/slots.ts';
import { eachInWorld, start as startInWorld, world } from '../../fixture/each-test.ts';
import { chatsOfShard } from '../../fixture/gateway.ts';
import { until } from '../../fixture/root.ts';

const SHARDS = 4;

eachInWorld({ env: { SHARDS: String(SHARDS), WORKER_CONCURRENCY: '1' } });

const start = (env: Record<string, string> = {}) => startInWorld(env, { drainMs: 100 });

/** So many allowed chats of a shard. */
function chatsOf(shard: number, count: number): number[] {
  return chatsOfShard(shard, SHARDS).slice(0, count);
}

/** Messages of all shards whose call is under way for `ms`; answers the most that were under way at once. */
function holdCalls(ms: number): () => number {
  let [now, most] = [0, 0];
  world.claude.react((call) => {
    if (call.kind !== 'main') return undefined;
    now += 1;
    most = Math.max(most, world.claude.inFlight());
    return { do: 'answer', text: `answer ${now}`, afterMs: ms };
  });
  return () => most;
}

const settled = async () => {
  const counts = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) => world.peek.xlen(keysOf(shard).outcomes)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
};

test('WORKER_CONCURRENCY=3 answers at most 3 messages of two shards at once, and uses all 3 slots', async () => {
  const most = holdCalls(100);
  await start({ WORKER_CONCURRENCY: '3' });
  const [first, second] = [chatsOf(0, 3), chatsOf(1, 9)];
  for (const chat of [...first, ...second]) world.telegram.say(chat, 'hello');
  await until('all answers', async () => ((await settled()) === 12 ? true : undefined));
  expect(most()).toBe(3);
});

test('a shard with a long turn gets a slot that another shard releases, and a second process runs what a busy one cannot', async () => {
  const [long = 0, next = 0] = chatsOf(0, 2);
  const [other = 0] = chatsOf(1, 1);
  world.claude.react(({ pendingText }) => {
    if (pendingText === 'long') return { do: 'hang' };
    return pendingText === 'other' ? { do: 'answer', text: 'other', afterMs: 500 } : undefined;
  });
  await start({ WORKER_CONCURRENCY: '2' });
  const ask = async (chat: number, text: string) => {
    world.telegram.say(chat, text);
    await world.claude.waitForCall((call) => call.pendingText === text);
  };
  await ask(long, 'long');
  await ask(other, 'other');
  // Both slots are taken, so nobody fetches it now.
  await ask(next, 'next');
  await world.telegram.waitForText(next, /next/);
  await ask(chatsOf(2, 1)[0] ?? 0, 'long');
  await until('two that hang', () => world.claude.inFlight() === 2 || undefined);
  await start();
  const chats = Array.from({ length: SHARDS }, (_, shard) => chatsOf(shard, 3)[2] ?? 0);
  for (const chat of chats) world.telegram.say(chat, 'short');
  await until('the other answers', async () => (await settled()) === SHARDS + 2 || undefined);
});

test('slots are granted in the order of the requests, a request times out, and whoever waits for a free one learns of it', async () => {
  const slots = createSlots(1);
  const [one, other] = [slots.share(), slots.share()];
  await one.whenFree(60_000);
  const slot = await one.take(0);
  await other.whenFree(5);
  const freed = other.whenFree(60_000);
  expect([one.allowed(), other.allowed(), one.inHand()]).toEqual([1, 1, 1]);
  const order: string[] = [];
  const second = other.take(10_000).then((give) => {
    order.push('other');
    give?.end();
  });
  const third = one.take(10_000).then((give) => {
    order.push('one');
    give?.end();
  });
  expect(await other.take(5)).toBeUndefined();
  slot?.end();
  await Promise.all([second, third, freed]);
  expect(order).toEqual(['other', 'one']);
  expect([one.inHand(), other.inHand(), one.allowed()]).toEqual([0, 0, 1]);
});

test('a job that delivers leaves its slot to others, and has to ask for it again', async () => {
  const share = createSlots(1).share();
  const slot = await share.take(0);
  slot?.release();
  expect([share.inHand(), share.allowed()]).toEqual([1, 2]);
  const other = await share.take(0);
  expect(await slot?.tryReacquire()).toBe(false);
  other?.end();
  expect(await slot?.tryReacquire()).toBe(true);
  expect([share.inHand(), share.allowed()]).toEqual([1, 1]);
  slot?.end();
  expect([share.inHand(), share.allowed()]).toEqual([0, 1]);
});

test('one person may have all slots alone; who comes then is next, and from then on has half of them to find', async () => {
  const share = createSlots(4).share();
  const [ann, bo] = [1, 2];
  const slots = await Promise.all([1, 2, 3, 4].map(() => share.take(0, ann)));
  // The jobs behind those of somebody who has more than half are looked at.
  expect(share.allowed()).toBe(5);
  const order: string[] = [];
  const take = (name: string, person: number) =>
    share.take(10_000, person).then((slot) => {
      order.push(name);
      return slot;
    });
  const others = [take('ann 5', ann), take('ann 6', ann), take('bo', bo)];
  slots[0]?.end();
  const bos = await others[2];
  expect(order).toEqual(['bo']);
  slots[1]?.end();
  slots[2]?.end();
  const fifth = await others[0];
  expect(order).toEqual(['bo', 'ann 5']);
  bos?.end();
  expect(await share.take(5, ann)).toBeUndefined();
  fifth?.end();
  await others[1];
});
