import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

function incidents(...args: string[]) {
  return runCli(['incidents', ...args], world.env);
}

test('incidents exits 0 when none is open, and 1 with cause, count and what to do when one is', async () => {
  expect(await incidents()).toMatchObject({ code: 0, stdout: expect.stringContaining('No incident is open.') });
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  const named = async () => (await world.peek.hkeys(world.keys.incidents)).find((name) => /^incident:/.test(name));
  await until('incident', named);
  const listed = await incidents('--open', '--json');
  expect(listed.code).toBe(1);
  const [first] = JSON.parse(listed.stdout);
  expect(first).toMatchObject({ isOpen: true, title: expect.any(String), sinceMs: expect.any(Number) });
  const words = await incidents();
  expect(words.stdout).toContain(`\n${first.name}: ${first.title}\n  OPEN for`);
  expect(words.stdout).toMatch(/Runbook: /);
});

test('incidents and status show what this version does not know, as far as it can be read, and are yellow', async () => {
  const future = { cause: 'toString', isOpen: true, openedMs: Date.now() - 60_000, latest: 'A leap in\u0007 time.' };
  await world.peek.hset(world.keys.incidents, 'incident:toString', JSON.stringify(future));
  await world.peek.hset(world.keys.incidents, 'incident:failed', 'no JSON', 'aside:idle', 'null');
  // Of an earlier version, which is over with it.
  const former = JSON.stringify({ ...future, cause: 'overflow-storm' });
  await world.peek.hset(world.keys.incidents, 'incident:overflow-storm', former);
  const { code, stdout } = await incidents();
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^toString: Not known to this version \(toString\)\n {2}OPEN for 6\d s.*\n {2}Latest: A leap in {2}time\./m,
  );
  expect(stdout).toMatch(/^failed: Not known to this version \(not readable\)\n.*\n {2}Latest: no JSON/m);
  expect(stdout).toMatch(/^aside:idle: Not known to this version/m);
  const status = JSON.parse((await runCli(['status', '--json'], world.env)).stdout);
  expect(status.incidents).toHaveLength(3);
  expect(status.troubles.map(({ cause }: { cause: string }) => cause)).toEqual(['worker', 'other-version']);
});
