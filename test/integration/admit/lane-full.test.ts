import { expect, test } from '@jest/globals';
import { chatKey, type EntryId, TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { compareStreamIds, inSlices } from '../../../shared/redis/stream.ts';
import { createLedger } from '../../../shared/state/lane/ledger.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, hold, start, world } from '../../fixture/each-test.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { forwarded } from '../../stand-in/telegram/inbound-kinds.ts';

const TAKEN = 3;
const WRITTEN = 20;
const OTHER = 1002;

eachInWorld({ env: { LANE_MAX_MESSAGES: String(TAKEN) } });

const notices = () =>
  world.telegram
    .shown(CHAT)
    .map(({ text }) => text)
    .filter((text) => text.includes('Too many'));
/** All outcomes, in the order of the messages: what a full lane refuses has its outcome before what it took. */
const inOrder = async () =>
  (await settledOutcomes(world)).sort((one, other) => compareStreamIds(one.entry, other.entry));
const reasons = async () => (await inOrder()).map(({ outcome, reason }) => reason ?? outcome);
const EXPECTED = [...Array(TAKEN).fill('answered'), ...Array(WRITTEN - TAKEN).fill('lane_full')];

/** How many refused messages the replies have counted. */
const counted = () => notices().reduce((sum, text) => sum + Number(/(\d+) of them/.exec(text)?.[1] ?? 1), 0);

/** Accepts messages as the producer does: a gateway that starts then admits up to a hundred in one step. */
async function acceptMany(count = WRITTEN): Promise<void> {
  world.telegram.openChat(CHAT);
  const inbox = createInbox(world.peek, 1);
  const updates = Array.from({ length: count }, (_, at) => 20_000 + at);
  for (const some of inSlices(updates, 1_000))
    await Promise.all(some.map((update) => inbox.accept(7, inboundText(update, CHAT), `00-${update}-b-01`)));
}

/** How often a job was added to the queue. */
async function jobsAdded(): Promise<number> {
  const events = await world.peek.xrange(`${world.keys.queuePrefix}:${TURNS_QUEUE}:events`, '-', '+');
  return events.filter(([, fields]) => fields[1] === 'added').length;
}

test('messages over a full lane end without a job, the next reply counts them, and each has one outcome', async () => {
  await acceptMany();
  await start();
  const outcomes = await untilSettled(world, WRITTEN);
  expect(await reasons()).toEqual(EXPECTED);
  const answered = outcomes.filter(({ outcome }) => outcome === 'answered').map(({ entry }) => entry);
  expect(answered).toEqual([...answered].sort(compareStreamIds));
  expect(new Set(outcomes.map(({ traceId }) => traceId)).size).toBe(WRITTEN);
  expect(outcomes.every(({ sentAtMs }) => sentAtMs !== undefined)).toBe(true);
  expect(notices()).toEqual([expect.stringContaining(`${WRITTEN - TAKEN} of them`)]);
  expect(await jobsAdded()).toBe(TAKEN);
  expect(((await world.peek.xpending(world.keys.inbound, 'dispatcher')) as unknown[])[0]).toBe(0);
  const unbounded = (await world.peek.keys(`${world.keys.turnPrefix}*`)).map((key) => world.peek.ttl(key));
  expect((await Promise.all(unbounded)).every((ttl) => ttl > 0)).toBe(true);
  expect(await ask('again', WRITTEN + 1)).toMatchObject({ outcome: 'answered' });
});

test('a message that version 0.3 marked as refused, and left in its lane, is answered', async () => {
  const answer = hold();
  await start();
  for (const text of ['one', 'two']) world.telegram.say(CHAT, text);
  const lane = world.keys.lane(chatKey(CHAT));
  await until('two that wait', async () => (await world.peek.llen(lane)) === 2 || undefined);
  const entry = (await world.peek.lindex(lane, 1)) as EntryId;
  await world.peek.hset(world.keys.turn(entry), 'refused', 'lane_full');
  answer();
  await untilSettled(world, 2);
  expect(await reasons()).toEqual(['answered', 'answered']);
  expect(notices()).toEqual([]);
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

test('messages over a full lane that stand apart are counted together, and by the reply to a /stop', async () => {
  const written = writeInterleaved();
  await start();
  await untilSettled(world, written);
  expect(await reasons()).toEqual([
    ...Array(TAKEN).fill('answered'),
    ...['lane_full', 'lane_full', 'answered', 'merged', 'lane_full', 'lane_full'],
  ]);
  expect(counted()).toBe(4);
  const answer = hold();
  world.telegram.say(CHAT, 'again');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'again');
  for (const text of ['5', '6', 'r5', '/stop']) world.telegram.say(CHAT, text);
  await untilSettled(world, written + 5);
  answer();
  expect((await reasons()).slice(-2)).toEqual(['lane_full', 'stop']);
  expect(counted()).toBe(5);
});

test('10,000 messages to a paused chat each have an outcome once it is resumed, and another chat is answered meanwhile', async () => {
  await start();
  await ask('hello');
  await runCli(['pause', String(CHAT), '--by', 'Ada'], world.env);
  await acceptMany(10_000);
  await until('full lane', async () => (await world.peek.xlen(world.keys.inbound)) === TAKEN || undefined);
  await runCli(['resume', String(CHAT), '--by', 'Ada'], world.env);
  world.telegram.say(OTHER, 'hello');
  await until('answer to somebody else', () => world.telegram.shown(OTHER).length > 0 || undefined, 10_000);
  await untilSettled(world, 10_002);
  const settled = (await inOrder()).filter(({ chat }) => chat === String(CHAT)).slice(1);
  expect(new Set(settled.map(({ entry }) => entry)).size).toBe(10_000);
  expect(settled.slice(0, TAKEN).every(({ outcome }) => outcome === 'answered')).toBe(true);
  expect(settled.slice(TAKEN).every(({ outcome, reason }) => outcome === 'refused' && reason === 'lane_full')).toBe(
    true,
  );
  expect(settled.every(({ traceId }) => traceId !== '')).toBe(true);
  expect(notices()).toEqual([expect.stringContaining(`${10_000 - TAKEN} of them`)]);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  expect(await createLedger(world.peek, world.keys).read()).toMatchObject({ unaccounted: 0 });
});
