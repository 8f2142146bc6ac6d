import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { spawnFile } from '../../fixture/command.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { jobsIn } from '../../fixture/job-keys.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';

eachInWorld();

function retry(...args: string[]) {
  return runCli(['retry', ...args], world.env);
}

async function givenFailed(): Promise<string> {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  world.telegram.say(CHAT, 'hello');
  const { entry } = await nextOutcome(world, CHAT);
  world.claude.react((call) => ({ do: 'answer', text: `re ${call.pendingText}` }));
  return entry;
}

test('a message that waits for minutes is tried at once', async () => {
  let isUp = false;
  world.claude.react(() =>
    isUp
      ? { do: 'answer', text: 'here' }
      : { do: 'error', status: 529, type: 'overloaded_error', message: 'no', headers: { 'retry-after': '250' } },
  );
  await start();
  world.telegram.say(CHAT, 'hello');
  await until('delayed job', async () => (await world.peek.zcard(jobsIn(world.keys, 'delayed'))) === 1 || undefined);
  const [[entry = ''] = []] = await world.peek.xrange(world.keys.inbound, '-', '+');
  isUp = true;
  const tried = await retry(entry, '--why', 'it is back');
  expect(tried).toMatchObject({ code: 0, stdout: expect.stringMatching(/being tried now/) });
  expect(await nextOutcome(world, CHAT)).toMatchObject({ entry, outcome: 'answered' });
  expect(await retry(entry)).toMatchObject({ code: 1, stdout: expect.stringMatching(/has ended: answered/) });
});

test('a failed message comes back by the entry that its alert names, once, however often it is retried', async () => {
  const entry = await givenFailed();
  const both = await Promise.all([retry(entry), retry(entry)]);
  expect(both.some(({ code }) => code === 0)).toBe(true);
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect((await retry(entry)).code).toBe(1);
  expect(await settledOutcomes(world)).toHaveLength(2);
  expect(world.telegram.shown(CHAT).filter(({ text }) => text === 're hello')).toHaveLength(1);
});

variants<[string, () => Promise<unknown>]>([
  ['before it reads anything', async () => {}],
  [
    'once it has written down what it is about to do',
    () => until('action', async () => (await world.peek.xlen(world.keys.actions)) || undefined),
  ],
])('retry that is killed %s loses nothing: it can be done again, and is answered once', async (_when, moment) => {
  const entry = await givenFailed();
  const child = await spawnFile('worker/cli/main.ts', ['retry', entry], world.env);
  const ended = once(child, 'exit');
  await moment();
  child.kill('SIGKILL');
  await ended;
  const kept = await world.peek.xlen(world.keys.dead);
  expect((await retry(entry)).code).toBe(kept === 1 ? 0 : 1);
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(await world.peek.xlen(world.keys.dead)).toBe(0);
  expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '2', settled: '2' });
});
