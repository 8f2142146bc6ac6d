import { expect, test } from '@jest/globals';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { eachInWorld, mainCalls, start, stopGateways, world } from '../../fixture/each-test.ts';
import { until } from '../../fixture/root.ts';
import { ask, sessionOf } from '../../fixture/whole-chat.ts';

const DAY_S = 24 * 3_600;
const OLD = 1_000;

eachInWorld();

const lastsS = (id: SessionId) =>
  Promise.all([world.keys.session(id), world.keys.log(id)].map((key) => world.peek.ttl(key)));

test('the ledger and the audit trail are kept for LEDGER_RETENTION_DAYS, and no longer', async () => {
  const { keys, peek } = world;
  const agoMs = (days: number) => Date.now() - days * DAY_S * 1_000;
  for (const stream of [keys.outcomes, keys.events])
    for (const [count, days] of [
      [OLD, 31],
      [1, 29],
    ] as const)
      for (let nth = 0; nth < count; nth++) await peek.xadd(stream, `${agoMs(days)}-${nth}`, 'record', '{}');
  await start({ LEDGER_RETENTION_DAYS: '30' }, { archiveEveryMs: 20 });
  // Redis removes whole nodes of a stream.
  for (const stream of [keys.outcomes, keys.events])
    await until('the end of what is old', async () => (await peek.xlen(stream)) <= OLD / 5 || undefined);
  for (const stream of [keys.outcomes, keys.events])
    expect((await peek.xrange(stream, `${agoMs(30)}`, '+')).length).toBeGreaterThanOrEqual(1);
});

test('an open conversation lasts as long as somebody writes within SESSION_IDLE_DAYS, and is then begun anew; without the setting it lasts, and a closed one ends as before', async () => {
  await start({ SESSION_IDLE_DAYS: '30' });
  await ask('hello', 1);
  const idle = await sessionOf();
  for (const seconds of await lastsS(idle)) expect(seconds).toBeGreaterThan(30 * DAY_S - 60);
  for (const key of [world.keys.session(idle), world.keys.log(idle)]) await world.peek.expire(key, 60);
  await ask('and again', 2);
  for (const seconds of await lastsS(idle)) expect(seconds).toBeGreaterThan(30 * DAY_S - 60);
  // Thirty days in which nobody writes.
  await world.peek.del(world.keys.session(idle), world.keys.log(idle));
  await ask('after a month', 3);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).not.toContain('hello');
  await ask('do you remember?', 4);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('after a month');
  const lasting = await sessionOf();
  await stopGateways();
  await start({ SESSION_IDLE_DAYS: '' }, { archiveEveryMs: 20 });
  await ask('and again', 5);
  expect(await lastsS(lasting)).toEqual([-1, -1]);
  await ask('/new', 6);
  await until('an end for what is closed', async () => ((await lastsS(lasting))[0] ?? -1) > 60 * DAY_S || undefined);
  await ask('another', 7);
  expect((await lastsS(lasting))[0]).toBeGreaterThan(60 * DAY_S);
  expect(world.claude.violations()).toEqual([]);
});

test('a conversation whose time would end in the middle of a turn is not begun anew in it', async () => {
  await start({ SESSION_IDLE_DAYS: '30' });
  await ask('hello', 1);
  const idle = await sessionOf();
  for (const key of [world.keys.session(idle), world.keys.log(idle)]) await world.peek.pexpire(key, 500);
  world.claude.react(({ pendingText }) =>
    pendingText === 'just in time' ? { do: 'answer', text: 'noted', afterMs: 1_000 } : undefined,
  );
  await ask('just in time', 2);
  await ask('do you remember?', 3);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('just in time');
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('hello');
  expect(world.claude.violations()).toEqual([]);
});
