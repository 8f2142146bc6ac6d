import { beforeEach, expect, test } from '@jest/globals';
import { createInbox, type Inbox } from '../../../shared/state/message/inbox.ts';
import { eachWithQueue } from '../../fixture/each-queue.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { inboundText } from '../../fixture/inbound.ts';

let inbox: Inbox;

eachWithQueue();
beforeEach(() => {
  inbox = createInbox(redis, 1);
});

async function accept(updateId: number, by: Inbox = inbox): Promise<boolean> {
  return (await by.accept(7, inboundText(updateId), '00-a-b-01')).duplicate;
}

async function alerts(): Promise<string[]> {
  return (await redis.xrange(keys.alerts, '-', '+')).map(([, fields]) => JSON.parse(fields[1] ?? '').text);
}

test.each([1, 2, 3])('the next message queues one alert that %i of three messages were lost', async (lost) => {
  for (const id of [1, 2, 3]) await accept(id);
  await redis.hincrby(keys.counts, 'accepted', -lost);
  expect(await accept(4)).toBe(false);
  await accept(5);
  expect(await alerts()).toEqual([
    expect.stringContaining(`Redis lost data: 3 messages had been accepted, and now it knows of ${4 - lost} `),
  ]);
});

test('a repeated update queues an alert of a loss, too', async () => {
  for (const id of [1, 2]) await accept(id);
  await redis.hincrby(keys.counts, 'accepted', -1);
  expect(await accept(2)).toBe(true);
  expect(await alerts()).toHaveLength(1);
});

test('several inboxes, repeated updates and data without counts cause no alert', async () => {
  await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}');
  const other = createInbox(redis, 1);
  await Promise.all([1, 2, 3, 4, 5, 6, 3, 2].map((id, at) => accept(id, at % 2 === 0 ? inbox : other)));
  for (const id of [6, 7, 7]) await accept(id);
  expect(await alerts()).toEqual([]);
});

test('a message is accepted even when the alert cannot be queued; the next message queues it', async () => {
  for (const id of [1, 2, 3]) await accept(id);
  await redis.hincrby(keys.counts, 'accepted', -3);
  await redis.set(keys.alerts, 'not a stream');
  expect(await accept(4)).toBe(false);
  await redis.del(keys.alerts);
  await accept(5);
  expect(await alerts()).toEqual([expect.stringMatching(/^Redis lost data: 3 .* now it knows of 2 /m)]);
});
