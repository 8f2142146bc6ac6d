import { expect, test } from '@jest/globals';
import { TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { CHAT, eachInWorld, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import { forwarded } from '../../stand-in/telegram/inbound-kinds.ts';

const TAKEN = 3;
const WRITTEN = 20;

eachInWorld({ env: { LANE_MAX_MESSAGES: String(TAKEN) } });

const notices = () =>
  world.telegram
    .shown(CHAT)
    .map(({ text }) => text)
    .filter((text) => text.includes('Too many'));
const reasons = async () => (await settledOutcomes(world)).map(({ outcome, reason }) => reason ?? outcome);
const EXPECTED = [...Array(TAKEN).fill('answered'), ...Array(WRITTEN - TAKEN).fill('lane_full')];

function writeMany(): void {
  for (let number = 1; number <= WRITTEN; number++) world.telegram.say(CHAT, `message ${number}`);
}

/** How often a job was added to the queue. */
async function jobsAdded(): Promise<number> {
  const events = await world.peek.xrange(`${world.keys.queuePrefix}:${TURNS_QUEUE}:events`, '-', '+');
  return events.filter(([, fields]) => fields[1] === 'added').length;
}

test('messages over a full lane end with one job and one notice for all, and one outcome each', async () => {
  writeMany();
  await start();
  const outcomes = await untilSettled(world, WRITTEN);
  expect(await reasons()).toEqual(EXPECTED);
  expect(outcomes.map(({ entry }) => entry)).toEqual(outcomes.map(({ entry }) => entry).sort());
  expect(new Set(outcomes.map(({ traceId }) => traceId)).size).toBe(WRITTEN);
  expect(outcomes.every(({ sentAtMs }) => sentAtMs !== undefined)).toBe(true);
  await until('the notice', () => (notices().length > 0 ? true : undefined));
  expect(notices()).toEqual([expect.stringContaining(`${WRITTEN - TAKEN} of them`)]);
  expect(await jobsAdded()).toBe(TAKEN + 1);
  expect(((await world.peek.xpending(world.keys.inbound, 'dispatcher')) as unknown[])[0]).toBe(0);
  const unbounded = (await world.peek.keys(`${world.keys.turnPrefix}*`)).map((key) => world.peek.ttl(key));
  expect((await Promise.all(unbounded)).every((ttl) => ttl > 0)).toBe(true);
  world.telegram.say(CHAT, 'again');
  expect(await nextOutcome(world, CHAT, WRITTEN + 1)).toMatchObject({ outcome: 'answered' });
});

variants([
  ['answer stored', 1],
  ['part sent', 2],
  ['settled', 1],
])(
  'killed at "%s" of the notice: the refused messages end once each, with %d notice(s), of which the second is a repeat',
  async (step, count) => {
    writeMany();
    const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${TAKEN + 1}` });
    expect(await victim.ended).toBe('SIGKILL');
    await takeOver();
    await untilSettled(world, WRITTEN);
    expect(await reasons()).toEqual(EXPECTED);
    await until('the notice', () => (notices().length > 0 ? true : undefined));
    expect(notices()).toHaveLength(count);
    expect(notices().filter((text) => !text.startsWith('↻')).length).toBeLessThanOrEqual(1);
    world.telegram.say(CHAT, 'again');
    expect(await nextOutcome(world, CHAT, WRITTEN + 1)).toMatchObject({ outcome: 'answered' });
  },
);

test('messages refused after the notice of others was stored get a notice of their own', async () => {
  writeMany();
  const victim = await spawn({ SPILLWAY_FAIL_AT: `answer stored:${TAKEN + 1}` });
  expect(await victim.ended).toBe('SIGKILL');
  // Admitted as the next gateway starts, and so before the dead one's job is taken over.
  for (const update of [9_001, 9_002]) await createInbox(world.peek, 1).accept(7, inboundText(update, CHAT), '');
  await takeOver();
  await untilSettled(world, WRITTEN + 2);
  await until('both notices', () => (notices().length === 2 ? true : undefined));
  expect(await reasons()).toEqual([...EXPECTED, 'lane_full', 'lane_full']);
  expect(notices()[1]).toContain('2 of them');
});

/** Refused messages that stand on both sides of others: forwards may exceed the limit. Answers how many there are. */
function writeInterleaved(): number {
  const date = Math.floor(Date.now() / 1000);
  const extra = forwarded({ type: 'hidden_user', name: 'Ann' });
  for (const text of ['1', '2', '3', 'r1', 'r2']) world.telegram.say(CHAT, text, { date });
  for (const text of ['f1', 'f2']) world.telegram.say(CHAT, text, { date: date + 9, extra });
  for (const text of ['r3', 'r4']) world.telegram.say(CHAT, text, { date: date + 9 });
  return 9;
}

const BLOCKED = { status: 403, description: 'Forbidden: bot was blocked by the user' };

test('messages over a full lane that stand apart get one notice for all, and each its outcome in its turn', async () => {
  const written = writeInterleaved();
  await start();
  const settled = await untilSettled(world, written);
  expect(await reasons()).toEqual([
    ...Array(TAKEN).fill('answered'),
    ...['lane_full', 'lane_full', 'answered', 'merged', 'lane_full', 'lane_full'],
  ]);
  expect(notices()).toEqual([expect.stringContaining('4 of them')]);
  expect(settled.map(({ entry }) => entry)).toEqual(settled.map(({ entry }) => entry).sort());
  expect(settled.slice(-2).map(({ into }) => into)).toEqual([settled[3]?.entry, settled[3]?.entry]);
});

variants(['answer stored', 'settled'])(
  'killed at "%s" of the notice for messages that stand apart: no message is told twice, and none is left untold',
  async (step) => {
    const written = writeInterleaved();
    const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${TAKEN + 1}` });
    expect(await victim.ended).toBe('SIGKILL');
    await takeOver();
    await untilSettled(world, written);
    expect(notices().map((text) => /\d of them|this one/.exec(text)?.[0])).toEqual(['4 of them']);
  },
);

test('where the notice cannot be delivered, the messages that stand apart are told by another one', async () => {
  const written = writeInterleaved();
  world.telegram.fail('sendMessage', BLOCKED, 1, ({ text }) => String(text).includes('Too many'));
  await start();
  await untilSettled(world, written);
  expect((await reasons()).slice(TAKEN)).toEqual([
    ...['telegram_gone', 'telegram_gone', 'answered', 'merged', 'lane_full', 'lane_full'],
  ]);
  expect(notices()).toEqual([expect.stringContaining('2 of them')]);
});

test('a flood of hundreds gets one notice', async () => {
  for (let number = 1; number <= 300; number++) world.telegram.say(CHAT, `message ${number}`);
  await start();
  await untilSettled(world, 300);
  expect(notices()).toEqual([expect.stringContaining(`${300 - TAKEN} of them`)]);
});

test('after a /stop, what a full lane did not take is told anew', async () => {
  const date = Math.floor(Date.now() / 1000);
  for (const text of ['1', '2', '3', 'r1', '/stop', 'r2']) world.telegram.say(CHAT, text, { date });
  await start();
  await untilSettled(world, 6);
  expect((await reasons()).slice(-2)).toEqual(['stop', 'lane_full']);
  expect(notices()).toEqual([expect.stringContaining('this one')]);
});

test('when the bot is blocked every message ends as undeliverable, the refused ones in one job', async () => {
  world.telegram.fail(
    'sendMessage',
    { status: 403, description: 'Forbidden: bot was blocked by the user' },
    100,
    ({ chat_id }) => String(chat_id) === String(CHAT),
  );
  writeMany();
  await start();
  const outcomes = await untilSettled(world, WRITTEN);
  expect(outcomes.every(({ outcome }) => outcome === 'undeliverable')).toBe(true);
  expect(await jobsAdded()).toBe(TAKEN + 1);
});
