import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

function chat(...args: string[]) {
  return runCli(['chat', ...args], world.env);
}

test('chat states lane, session, newest outcomes and what today cost, and no words', async () => {
  world.claude.react((call) =>
    call.pendingText === 'stuck'
      ? { do: 'answer', text: 'late', afterMs: 60_000 }
      : { do: 'answer', text: 'a private answer' },
  );
  await start();
  world.telegram.say(CHAT, 'my secret');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'stuck');
  world.telegram.say(CHAT, 'behind it');
  await until('lane of 2', async () => (await world.peek.llen(world.keys.lane(chatKey(CHAT)))) === 2 || undefined);
  await world.claude.waitForCall((call) => call.pendingText === 'stuck');
  const report = JSON.parse((await chat(String(CHAT), '--json')).stdout);
  const [call] = world.claude.calls;
  expect(report).toMatchObject({
    waiting: 2,
    head: { place: { at: 'running' } },
    outcomes: [{ outcome: 'answered' }],
    today: { calls: 1, inputTokens: expect.any(Number) },
    deadLetters: 0,
    reminders: 0,
  });
  expect(call?.status).toBe(200);
  const words = await chat(String(CHAT));
  expect(words.stdout).toMatch(/\nFirst: \d+-\d+, accepted \d+ s ago: asking the model[\s\S]*\nWaiting +2;/);
  expect(words.stdout).toContain(`npm run cli -- cancel ${CHAT}`);
  expect(words.stdout + JSON.stringify(report)).not.toMatch(/secret|private answer|behind it/);
});

test('an unknown chat exits 1 and says what an id looks like; what is no id exits 2', async () => {
  const said = expect.stringMatching(/Nothing is known .*numeric id/);
  expect(await chat('-100777')).toMatchObject({ code: 1, stderr: said });
  for (const args of [[], ['bob'], ['1', '2'], ['1', '--wings']]) expect((await chat(...args)).code).toBe(2);
});
