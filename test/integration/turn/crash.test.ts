import { expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, mainCalls, start, takeOver, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { spawnGateway } from '../../fixture/process.ts';
import { variants } from '../../fixture/variants.ts';

eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

/** Runs a gateway that kills itself at a step, then one that does not, until the message has its outcome. */
async function killedAt(step: Failpoint, nth = 1) {
  const victim = await spawnGateway(world, { SPILLWAY_FAIL_AT: `${step}:${nth}` });
  world.telegram.say(CHAT, 'Do not lose me');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  return nextOutcome(world, CHAT);
}

function answers() {
  return world.telegram.shown(CHAT).filter(({ text }) => text.includes('You said'));
}

test('killed between compaction and re-enqueue: the compaction is not repeated and the message is answered once', async () => {
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  const outcome = await killedAt('compaction stored');
  const compactions = world.claude.calls.filter((call) => call.kind === 'compaction').length;
  expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(compactions).toBeLessThanOrEqual(2);
  expect(mainCalls().map((call) => call.status)).toEqual([400, 200]);
  expect(answers()).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
});

test('a worker that loses its lock ends its call, and the message is answered by the next attempt', async () => {
  world.claude.react(({ index }) => (index === 0 ? { do: 'hang' } : undefined));
  // Nobody takes the job before its worker has tried to renew the lock.
  await start({}, { lockMs: 1_500, stalledCheckMs: 2_000 });
  world.telegram.say(CHAT, 'Do not lose me');
  const asked = await world.claude.waitForCall(() => true);
  const [lock = ''] = await world.peek.keys(`${world.keys.queuePrefix}:*:lock`);
  await world.peek.del(lock);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(asked.aborted).toBe(true);
});

test('killed between fresh session and replay: one fresh session, one alert, one answer', async () => {
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  world.claude.react((call) =>
    call.kind === 'main' && !isProbe(call) && !isSeeded(call) ? { do: 'overflow' } : undefined,
  );
  const outcome = await killedAt('fresh session stored');
  expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(mainCalls().map((call) => call.status)).toEqual([400, 400, 400, 200, 200]);
  expect(mainCalls()[4]?.pendingText).toBe('Do not lose me');
  expect(answers()).toHaveLength(1);
  await world.telegram.waitForText(ALERT_CHAT, /refused a conversation/);
  expect(world.telegram.shown(ALERT_CHAT)).toHaveLength(1);
  const sessions = (await world.peek.keys('*:session:*')).length;
  expect(sessions).toBe(2);
});

variants<[Failpoint, number]>([
  ['model called', 1],
  ['update received', 1],
  ['accepted', 1],
  ['admitted', 1],
  ['job added', 1],
  ['attempt begun', 1],
  ['answer stored', 1],
  ['settled', 1],
])('killed at "%s": the message has one outcome and one answer', async (step, nth) => {
  const outcome = await killedAt(step, nth);
  expect(outcome).toMatchObject({ outcome: 'answered' });
  world.telegram.say(CHAT, 'and the next');
  await nextOutcome(world, CHAT, 2);
  expect(await settledOutcomes(world)).toHaveLength(2);
  expect(answers()).toHaveLength(2);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
});

test('killed at "part sent": the answer is repeated once and says so, without another model call', async () => {
  expect(await killedAt('part sent')).toMatchObject({ outcome: 'answered' });
  expect(answers().map(({ text }) => text.startsWith('↻'))).toEqual([false, true]);
  expect(mainCalls()).toHaveLength(1);
});
