import { afterEach, expect, test } from '@jest/globals';
import { startProducer } from '../../../producer/producer.ts';
import { openLease } from '../../../producer/receive/lease.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import type { Telegram } from '../../../shared/telegram/client.ts';
import { CHAT, eachInWorld, world } from '../../fixture/each-test.ts';
import { settledOutcomes } from '../../fixture/ledger.ts';
import { type GatewayProcess, spawnGateway } from '../../fixture/process.ts';
import { rootOf, until } from '../../fixture/root.ts';

const SHORT = { leaseLastsMs: 2_000, leaseRetryMs: 50 };
/** Nobody waits for such a lease to run out within a test. */
const LONG = { leaseLastsMs: 600_000, leaseRetryMs: 50 };

const started: { stop(): unknown }[] = [];

afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop();
});
eachInWorld();

/** A producer, with the offsets that it asked for. */
function produce(limits: Parameters<typeof startProducer>[1] = SHORT) {
  const root = rootOf(world);
  const offsets: (number | undefined)[] = [];
  const telegram: Telegram = {
    ...root.telegram,
    getUpdates(offset, signal, when) {
      offsets.push(offset);
      return root.telegram.getUpdates(offset, signal, when);
    },
  };
  const producer = startProducer({ ...root, telegram }, limits);
  started.push(producer);
  const polling = async () => producer.readiness.find(({ name }) => name === 'poller')?.check();
  return { ...producer, offsets, polling };
}

async function spawned(): Promise<GatewayProcess> {
  const gateway = await spawnGateway(world);
  started.push({
    stop() {
      gateway.kill('SIGCONT');
      return gateway.stop();
    },
  });
  await world.telegram.waitForCall(({ method }) => method === 'getUpdates');
  return gateway;
}

const polls = () => world.telegram.calls.filter(({ method }) => method === 'getUpdates');
/** A long poll: the first one of a term is not, and is over at once. */
const openPoll = () => polls().find(({ endedAt, params }) => endedAt === undefined && Number(params.timeout) > 0);
const leaseKey = () => world.keys.poller(world.telegram.botId);
const waitsFor = (producer: ReturnType<typeof produce>) =>
  until(
    'producer that waits',
    async () => /another process/.test((await producer.polling())?.detail ?? '') || undefined,
  );

const confirmed = (update: number) =>
  until(`confirmation of ${update}`, () => world.telegram.confirmedUpTo() >= update || undefined);

/** How many messages were accepted: answered by now, or still waiting. */
async function acceptedMessages(): Promise<number> {
  return (await world.peek.xlen(world.keys.inbound)) + (await settledOutcomes(world)).length;
}

function expectNoConflict(): void {
  expect(polls().filter(({ status }) => status === 409)).toEqual([]);
}

test('of two producers one polls, the other is ready to take over, and does so at once when the first one stops', async () => {
  const first = produce(LONG);
  await until('poll', openPoll);
  const [second, third] = [produce(LONG), produce(LONG)];
  await waitsFor(second);
  const update = world.telegram.say(CHAT, 'hello');
  await confirmed(update);
  expect(await first.polling()).toMatchObject({ ready: true, detail: expect.stringMatching(/ms ago/) });
  expect(await second.polling()).toMatchObject({
    ready: true,
    detail: expect.stringMatching(/^another process polls \(process \d+ on .+\); this one takes over when it ends$/),
  });
  expect(second.offsets).toEqual([]);
  const owner = await world.peek.get(leaseKey());
  await third.stop();
  expect(await world.peek.get(leaseKey())).toBe(owner);
  await first.stop();
  await confirmed(world.telegram.say(CHAT, 'to the second'));
  expect((await second.polling())?.detail).toMatch(/ms ago$/);
  expect(await acceptedMessages()).toBe(2);
  expectNoConflict();
});

test('a frozen poller is replaced and does not poll when it wakes', async () => {
  const frozen = await spawned();
  const heir = produce();
  await waitsFor(heir);
  await until('poll', openPoll);
  frozen.kill('SIGSTOP');
  // Telegram hands it to the frozen one, which cannot confirm it.
  world.telegram.say(CHAT, 'into the ice');
  await confirmed(world.telegram.say(CHAT, 'to the heir'));
  frozen.kill('SIGCONT');
  await until('word of the heir', () => frozen.log.find((line) => line.includes('"holder":"another"')));
  const before = polls().length - heir.offsets.length;
  await confirmed(world.telegram.say(CHAT, 'after the thaw'));
  expect(polls().length - heir.offsets.length).toBe(before);
  await until('three messages', async () => (await acceptedMessages()) === 3 || undefined);
  expectNoConflict();
});

test('losing the lease ends an open long poll, and a lease that becomes free is acquired again', async () => {
  const producer = produce({ leaseLastsMs: 12_000, leaseRetryMs: 50 });
  const open = await until('poll', openPoll);
  await world.peek.set(leaseKey(), 'somebody else');
  // With the first renewal, after 4 seconds, and not only when the lease would have run out.
  await until('end of the poll', () => open.endedAt);
  await waitsFor(producer);
  expect(openPoll()).toBeUndefined();
  const update = world.telegram.say(CHAT, 'waits');
  expect(world.telegram.pending()).toBe(1);
  await world.peek.del(leaseKey());
  await confirmed(update);
  expect(await world.peek.get(leaseKey())).not.toBe('somebody else');
});

test('while Redis is down nobody polls and nothing is confirmed; afterwards nothing is lost', async () => {
  const producer = produce();
  const open = await until('poll', openPoll);
  world.redis.kill9();
  await until('end of the poll', () => open.endedAt);
  expect(await producer.polling()).toMatchObject({ ready: false });
  const update = world.telegram.say(CHAT, 'into the outage');
  expect([polls().length, world.telegram.pending()]).toEqual([2, 1]);
  await world.redis.restart();
  await confirmed(update);
  expect(producer.offsets.slice(0, 3)).toEqual([undefined, undefined, undefined]);
  expect(await acceptedMessages()).toBe(1);
});

test('the lease is renewed while a long poll is open', async () => {
  produce({ leaseLastsMs: 3_000, leaseRetryMs: 50 });
  const open = await until('poll', openPoll);
  for (const time of ['first', 'second']) {
    let lowestMs = Number.POSITIVE_INFINITY;
    await until(`${time} renewal`, async () => {
      const leftMs = await world.peek.pttl(leaseKey());
      lowestMs = Math.min(lowestMs, leftMs);
      return leftMs > lowestMs + 500 || undefined;
    });
  }
  expect(open.endedAt).toBeUndefined();
});

test('a process that wakes sees by its clock, before any timer runs, that its lease may have expired', async () => {
  const redis = connectRedis(world.redis.url, 'impatient');
  started.push({ stop: async () => redis.disconnect() });
  const lease = openLease({ ...rootOf(world), redis }, { leaseLastsMs: 1_000, leaseRetryMs: 20 });
  const { signal } = new AbortController();
  const first = await lease.begin(signal);
  expect([first?.isHeld(), await first?.renew()]).toEqual([true, true]);
  // Nothing of this process runs meanwhile, as when it is stopped.
  const freeze = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
  freeze();
  expect(first?.isHeld()).toBe(false);
  // A renewal that comes too late begins nothing again: another process may have received in between.
  expect([await first?.renew(), first?.lost.aborted]).toEqual([false, true]);
  const next = await lease.begin(signal);
  const answer = next?.renew();
  freeze();
  expect(await answer).toBe(false);
  await next?.end();
});
