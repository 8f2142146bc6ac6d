import { beforeEach, expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, hold, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { ask } from '../../fixture/whole-chat.ts';

const OTHER = 1002;
const HANG = 'think for ever';

eachInWorld();

beforeEach(() => {
  world.claude.react(({ pendingText }) => (pendingText === HANG ? { do: 'hang' } : undefined));
});

const outcomesOf = async (chat: number) =>
  (await settledOutcomes(world))
    .filter((record) => record.chat === String(chat))
    .map(({ outcome, reason }) => (reason === undefined ? outcome : `${outcome} ${reason}`));

/** The key of the first message's turn. */
const firstTurn = async () => (await world.peek.keys(`${world.keys.turnPrefix}*`)).sort()[0] ?? '';

const untilAsked = (text: string) => world.claude.waitForCall(({ pendingText }) => pendingText === text);

test('/stop and /new cancel what is before them in their chat, in order, and nothing else', async () => {
  await start();
  world.telegram.say(CHAT, HANG);
  world.telegram.say(OTHER, HANG);
  const [asked] = await Promise.all([untilAsked(HANG), world.claude.waitForCall(({ index }) => index === 1)]);
  for (const text of ['second', 'third', '/stop', 'fourth', '/stop', 'after it']) world.telegram.say(CHAT, text);
  expect(await nextOutcome(world, CHAT, 7)).toMatchObject({ outcome: 'answered' });
  const stopped = ['cancelled stop', 'cancelled stop', 'cancelled stop', 'command stop'];
  expect(await outcomesOf(CHAT)).toEqual([...stopped, 'cancelled stop', 'command stop', 'answered']);
  expect(shown(CHAT)).toEqual([EN.stopped, EN.stopped, expect.stringContaining('after it')]);
  expect(asked.aborted).toBe(true);
  expect(await outcomesOf(OTHER)).toEqual([]);
  for (const text of ['second', '/new', 'after it']) world.telegram.say(OTHER, text);
  expect(await nextOutcome(world, OTHER, 4)).toMatchObject({ outcome: 'answered' });
  expect(await outcomesOf(OTHER)).toEqual(['cancelled new', 'cancelled new', 'command new', 'answered']);
  expect(world.claude.calls.at(-1)?.body.messages).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
  expect(shown(ALERT_CHAT)).toEqual([]);
});

test('/stop cancels a message that waits for its next attempt at once, not when the attempt is due', async () => {
  const busy = { do: 'error', status: 429, type: 'rate_limit_error', message: 'slow down' } as const;
  world.claude.react(() => ({ ...busy, headers: { 'retry-after': '120' } }));
  await start();
  world.telegram.say(CHAT, 'overloaded');
  await until('a job that waits', async () => (await world.peek.zcard('{sw:0}:turns:delayed')) > 0 || undefined);
  expect(await ask('/stop', 2)).toMatchObject({ outcome: 'command' });
  expect(await outcomesOf(CHAT)).toEqual(['cancelled stop', 'command stop']);
});

test('an answer that is concluded when /stop comes is delivered', async () => {
  world.telegram.fail('sendMessage', { do: 'slow', ms: 1_500 }, 1);
  await start();
  world.telegram.say(CHAT, 'first');
  await world.telegram.waitForCall(({ method }) => method === 'sendMessage');
  await ask('/stop', 2);
  expect(await outcomesOf(CHAT)).toEqual(['answered', 'command stop']);
  expect(shown(CHAT)).toEqual([expect.stringContaining('first'), EN.nothingToStop]);
});

test('an answer that comes after /stop, and before its turn has noticed, keeps what was said and is no answer', async () => {
  const answer = hold('The whole answer.');
  await start();
  world.telegram.say(CHAT, 'first');
  await untilAsked('first');
  world.telegram.say(CHAT, '/stop');
  const isMarked = async () => (await world.peek.hexists(await firstTurn(), 'cancelled')) === 1 || undefined;
  await until('message that is marked', isMarked);
  answer();
  await nextOutcome(world, CHAT, 2);
  expect(await outcomesOf(CHAT)).toEqual(['cancelled stop', 'command stop']);
  expect(shown(CHAT)).toEqual([`The whole answer.\n\n${EN.stoppedHere}`, EN.stopped]);
  expect(world.telegram.shown(CHAT).flatMap(({ notified }) => notified ?? [])).toEqual([EN.stopped]);
  expect(world.claude.calls).toHaveLength(1);
  // What it cost is booked all the same.
  const [book = ''] = await world.peek.keys(`*:usage:*:${CHAT}`);
  expect(await world.peek.hget(book, 'calls')).toBe('1');
});

test('a look for /stop that fails ends no turn: the one answer that is paid for comes', async () => {
  const answer = hold();
  await start();
  world.telegram.say(CHAT, 'first');
  await untilAsked('first');
  await world.peek.call('ACL', 'SETUSER', 'default', '-hexists');
  const failed = /cmdstat_hexists:.*rejected_calls=[1-9]/;
  await until('look that fails', async () => failed.test(await world.peek.info('commandstats')) || undefined);
  await world.peek.call('ACL', 'SETUSER', 'default', '+hexists');
  answer();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(world.claude.calls).toHaveLength(1);
});
