import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, shown, start, world } from '../../fixture/each-test.ts';
import { jobsIn } from '../../fixture/job-keys.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

function cancel(...args: string[]) {
  return runCli(['cancel', ...args], world.env);
}

async function lane(messages: number): Promise<string[]> {
  return until(`lane of ${messages}`, async () => {
    const entries = await world.peek.lrange(world.keys.lane(chatKey(CHAT)), 0, -1);
    return entries.length === messages ? entries : undefined;
  });
}

function givenHanging(): void {
  world.claude.react((call) =>
    call.pendingText === 'hang' ? { do: 'hang' } : { do: 'answer', text: `re ${call.pendingText}` },
  );
}

test('cancel of one message ends it alone, and its user is told; the next one is answered', async () => {
  givenHanging();
  await start();
  world.telegram.say(CHAT, 'hang');
  world.telegram.say(CHAT, 'next');
  const [entry = ''] = await lane(2);
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'hang');
  expect(await cancel(entry, '--why', 'hangs', '--by', 'ann')).toMatchObject({ code: 0 });
  expect(await nextOutcome(world, CHAT)).toMatchObject({ entry, outcome: 'cancelled', reason: 'operator' });
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(shown().some((text) => /The operator of this bot stopped this message/.test(text))).toBe(true);
  expect(await cancel(entry)).toMatchObject({ code: 1, stdout: expect.stringMatching(/has ended/) });
});

test('cancel of a message that is put off for long ends it at once, and twice is the same', async () => {
  const headers = { 'retry-after': '250' };
  world.claude.react(() => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'no', headers }));
  await start();
  world.telegram.say(CHAT, 'hello');
  await until('delayed job', async () => (await world.peek.zcard(jobsIn(world.keys, 'delayed'))) === 1 || undefined);
  const [entry = ''] = await lane(1);
  await Promise.all([cancel(entry), cancel(entry)]);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ entry, outcome: 'cancelled', reason: 'operator' });
  expect(await settledOutcomes(world)).toHaveLength(1);
});

test('cancel of a chat ends all that waits as /stop does, with one reply and a balanced ledger; twice is the same', async () => {
  givenHanging();
  await start();
  for (const words of ['hang', 'two', 'three']) world.telegram.say(CHAT, words);
  await lane(3);
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'hang');
  // In a paused chat nothing ends between the two.
  await runCli(['pause', String(CHAT)], world.env);
  const both = await Promise.all([cancel(String(CHAT)), cancel(String(CHAT))]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  await runCli(['resume', String(CHAT)], world.env);
  await nextOutcome(world, CHAT, 4);
  const outcomes = await settledOutcomes(world);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled', 'cancelled', 'command']);
  expect(shown().filter((text) => text.startsWith('Stopped.'))).toHaveLength(1);
  expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '4', settled: '4' });
  expect(await cancel(String(CHAT))).toMatchObject({ code: 1, stdout: expect.stringMatching(/has nothing waiting/) });
});
