import { expect, test } from '@jest/globals';
import { bindProviderNote, noteBreaker, readBreakers } from '../../../shared/state/provider/provider.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachClosesConsoles, operator } from '../../fixture/each-console.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { goAwayBeforeAnswer, isAway } from '../../fixture/telegram-away.ts';

eachClosesConsoles();
eachInWorld({ env: { TEST_CALL_TIMEOUT_MS: '700' } });

async function breakers() {
  return JSON.parse((await runCli(['status', '--json'], world.env)).stdout).breakers;
}

test('the status is red and says since when calls of a model are kept back, and when the next one is tried, until one goes through', async () => {
  let isUp = false;
  world.claude.react(() =>
    isUp
      ? { do: 'answer', text: 'here' }
      : { do: 'error', status: 529, type: 'overloaded_error', message: 'no', headers: { 'retry-after': '0' } },
  );
  await start();
  expect((await runCli(['status'], world.env)).stdout).toMatch(/^Breakers {5}closed$/m);
  // Another process has had a call that failed, too.
  await bindProviderNote(world.peek, world.keys)('overloaded', '529');
  const before = Date.now();
  for (const chat of Array.from({ length: 4 }, (_, at) => CHAT + at)) world.telegram.say(chat, 'hello');
  const [open] = await until('open breaker', async () => {
    const found = await breakers();
    return found.models.length > 0 ? found.models : undefined;
  });
  expect(open).toMatchObject({ model: 'claude-opus-5-5' });
  expect(open.sinceMs).toBeGreaterThanOrEqual(before);
  expect(open.untilMs).toBeGreaterThan(open.sinceMs);
  const red = await until('a red status', async () => {
    const status = await runCli(['status'], world.env);
    return status.code === 1 ? status : undefined;
  });
  expect(red.stdout).toMatch(/^RED {2}The model endpoint .*status 529/);
  expect(red.stdout).toMatch(/Runbook: provider/);
  const visitor = await operator();
  expect((await visitor.get('/console')).text).toMatch(
    /<li class="bad"><b>Breakers<\/b> <span>Trouble: claude-opus-5-5: open since [\d-]+ [\d:]+ UTC, next try /,
  );
  isUp = true;
  await nextOutcome(world, CHAT);
  await until('closed breaker', async () => ((await breakers()).models.length === 0 ? true : undefined));
});

test('the status says since when Telegram is away and when it is asked next', async () => {
  await start();
  world.telegram.say(CHAT, 'hello');
  await goAwayBeforeAnswer('refused', [CHAT]);
  await until('away', async () => (await isAway()) || undefined);
  const { telegram } = await breakers();
  expect(telegram.untilMs).toBeGreaterThan(telegram.sinceMs);
  expect((await runCli(['status'], world.env)).stdout).toMatch(/^Breakers {5}Telegram: open since .* UTC, next try /m);
});

test('what a killed process noted of a breaker is not believed for ever, and what cannot be read hides no other', async () => {
  const nowMs = Date.now();
  await noteBreaker(world.peek, world.keys, 'killed', { sinceMs: 1, untilMs: nowMs - 300_000 });
  await noteBreaker(world.peek, world.keys, 'due', { sinceMs: 2, untilMs: nowMs - 1_000 });
  await world.peek.hset(
    world.keys.provider,
    'breaker:torn',
    '{',
    'breaker:odd',
    '{"sinceMs":"x"}',
    'breaker:null',
    'null',
  );
  expect(await readBreakers(world.peek, world.keys, nowMs)).toEqual([
    { model: 'due', sinceMs: 2, untilMs: nowMs - 1_000 },
  ]);
  expect((await runCli(['status'], world.env)).stdout).toMatch(/^Breakers {5}due: open since .* UTC, next try now$/m);
  await noteBreaker(world.peek, world.keys, 'due', undefined);
  expect(await readBreakers(world.peek, world.keys, nowMs)).toEqual([]);
});
