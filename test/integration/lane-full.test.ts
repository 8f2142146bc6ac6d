import { expect, test } from '@jest/globals';
import { createInbox } from '../../producer/accept/inbox.ts';
import { TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { CHAT, eachInWorld, spawn, world } from '../fixture/each-test.ts';
import { inboundText } from '../fixture/inbound.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../fixture/ledger.ts';
import { until } from '../fixture/root.ts';

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
  await spawn();
  const outcomes = await untilSettled(world, WRITTEN, 20_000);
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

test.each([
  ['answer stored', 1],
  ['part sent', 2],
  ['settled', 1],
])(
  'killed at "%s" of the notice: the refused messages end once each, with %d notice(s), of which the second is a repeat',
  async (step, count) => {
    writeMany();
    const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${TAKEN + 1}` });
    expect(await victim.ended).toBe('SIGKILL');
    await spawn();
    await untilSettled(world, WRITTEN, 20_000);
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
  await spawn();
  await untilSettled(world, WRITTEN + 2, 20_000);
  await until('both notices', () => (notices().length === 2 ? true : undefined));
  expect(await reasons()).toEqual([...EXPECTED, 'lane_full', 'lane_full']);
  expect(notices()[1]).toContain('2 of them');
});

test('when the bot is blocked every message ends as undeliverable, the refused ones in one job', async () => {
  world.telegram.fail(
    'sendMessage',
    { status: 403, description: 'Forbidden: bot was blocked by the user' },
    100,
    ({ chat_id }) => String(chat_id) === String(CHAT),
  );
  writeMany();
  await spawn();
  const outcomes = await untilSettled(world, WRITTEN, 20_000);
  expect(outcomes.every(({ outcome }) => outcome === 'undeliverable')).toBe(true);
  expect(await jobsAdded()).toBe(TAKEN + 1);
});
