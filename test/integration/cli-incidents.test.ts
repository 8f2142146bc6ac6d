import { expect, test } from '@jest/globals';
import { runCli } from '../fixture/cli.ts';
import { CHAT, eachInWorld, start, world } from '../fixture/each-test.ts';
import { nextOutcome } from '../fixture/ledger.ts';
import { until } from '../fixture/root.ts';

eachInWorld();

function incidents(...args: string[]) {
  return runCli(['incidents', ...args], world.env);
}

test('incidents exits 0 when none is open, and 1 with cause, count and what to do when one is', async () => {
  expect(await incidents()).toMatchObject({ code: 0, stdout: 'No incident is open.\n' });
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  await until(
    'incident',
    async () =>
      Object.keys(await world.peek.hgetall(world.keys.incidents)).some((name) => name.startsWith('incident:')) ||
      undefined,
  );
  const listed = await incidents('--open', '--json');
  expect(listed.code).toBe(1);
  const [first] = JSON.parse(listed.stdout);
  expect(first).toMatchObject({ isOpen: true, title: expect.any(String), sinceMs: expect.any(Number) });
  const words = await incidents();
  expect(words.stdout).toContain(`${first.name}: ${first.title}. OPEN for`);
  expect(words.stdout).toMatch(/Runbook: /);
});

test.each([[['--wings']], [['one']]])('incidents with %j exits 2', async (args) => {
  expect((await incidents(...args)).code).toBe(2);
});
