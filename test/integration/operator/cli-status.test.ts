import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import type { Status } from '../../../worker/report/status.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, start, stopGateways, world } from '../../fixture/each-test.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

function status(...args: string[]) {
  return runCli(['status', ...args], world.env);
}

async function stated(): Promise<Status> {
  return JSON.parse((await status('--json')).stdout) as Status;
}

/** Whether the lane of the chat has so many messages. */
async function isDeep(messages: number): Promise<true | undefined> {
  return (await world.peek.llen(world.keys.lane(chatKey(CHAT)))) === messages || undefined;
}

test('status is green with an idle gateway and exits 0; without one it is red, says so first, and exits 1', async () => {
  await start({}, { alertEveryMs: 50 });
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  await until('poll', async () => (await world.peek.hget(world.keys.poll, 'lastAnswerMs')) ?? undefined);
  await until('worker', async () => (await world.peek.zcard(world.keys.workers)) > 0 || undefined);
  const green = await status();
  expect(green).toMatchObject({ code: 0, stdout: expect.stringMatching(/^GREEN {2}All is well/) });
  expect(green.stdout).toMatch(/Pending +0; of 1 accepted; none waits for an answer/);
  expect(green.stdout).toMatch(/Workers +1; alive; chats in memory: 0 MB of 64 MB\n/);
  expect(green.stdout).toMatch(/Receiving .*; by .*, process \d+\n/);
  await stopGateways();
  await world.peek.zremrangebyrank(world.keys.workers, 0, -1);
  const red = await status();
  expect(red).toMatchObject({ code: 1, stdout: expect.stringMatching(/^RED {2}No worker process is alive\./) });
});

test('status names the turn in flight, its step and since when, the deepest lane and the oldest message', async () => {
  world.claude.react(() => ({ do: 'answer', text: 'late', afterMs: 60_000 }));
  await start();
  for (const words of ['my secret one', 'two', 'three']) world.telegram.say(CHAT, words);
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  await until('lane of 3', () => isDeep(3));
  const now = await stated();
  expect(now).toMatchObject({
    ledger: { accepted: 3, settled: 0, pending: 3, unaccounted: 0 },
    lanes: { count: 1, waiting: 1, deepest: [{ chat: String(CHAT), messages: 3 }] },
    jobs: { active: 1, waiting: 0, delayed: 0 },
    running: [{ chat: String(CHAT), step: 'asking the model', attempt: 1, sinceMs: expect.any(Number) }],
  });
  expect(now.oldest?.entry).toBe(now.running[0]?.entry);
  const { stdout } = await status();
  expect(stdout).toMatch(new RegExp(`${now.oldest?.entry} +${CHAT} +asking the model +1 +\\d+ s`));
  expect(stdout + JSON.stringify(now)).not.toContain('secret');
});

test('status is red while the provider answers 529, with the reason in the first line', async () => {
  world.claude.react(() => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' }));
  await start();
  world.telegram.say(CHAT, 'hello');
  await until(
    'second failure',
    async () => Number(await world.peek.hget(world.keys.provider, 'failures')) >= 2 || undefined,
  );
  const red = await status();
  expect(red).toMatchObject({ code: 1, stdout: expect.stringMatching(/^RED {2}The model endpoint .*status 529/) });
  expect(red.stdout).toMatch(/Runbook: provider/);
});

test('status and audit state the numbers of the stand-ins in a run with faults', async () => {
  const chats = [1001, 1002, 1003, 1004];
  let calls = 0;
  world.claude.react((call) => {
    calls += 1;
    if (calls % 4 === 0) return { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' };
    return { do: 'answer', text: `answer to ${call.pendingText}` };
  });
  await start();
  for (const chat of chats) for (const nth of [1, 2]) world.telegram.say(chat, `message ${nth} of ${chat}`);
  const outcomes = await untilSettled(world, 8);
  const now = await stated();
  expect(now.ledger).toEqual({ accepted: 8, settled: 8, pending: 0, unaccounted: 0 });
  const { stdout } = await runCli(['audit', '--json'], world.env);
  const audited = JSON.parse(stdout);
  const answered = outcomes.filter(({ outcome }) => outcome === 'answered').length;
  const shown = chats.flatMap((chat) => world.telegram.shown(chat)).filter(({ text }) => text.startsWith('answer to'));
  expect(audited.proof).toMatchObject(now.ledger);
  expect(audited.outcomes.byOutcome.answered).toBe(answered);
  expect(shown).toHaveLength(answered);
  const billed = mainCalls().filter((call) => call.status === 200);
  const booked = Object.values(audited.tokens.answer as Record<string, { calls: number }>);
  expect(booked.reduce((sum, spent) => sum + spent.calls, 0)).toBe(billed.length);
  expect(mainCalls().length).toBeGreaterThan(billed.length);
});

test('status and retry without Redis say so, and exit 1', async () => {
  const away = { ...world.env, REDIS_URL: 'redis://127.0.0.1:1' };
  const said = { code: 1, stdout: '', stderr: expect.stringMatching(/Redis/i) };
  const all = await Promise.all([runCli(['status'], away), runCli(['retry', '1-0'], away)]);
  expect(all).toEqual([said, said]);
});
