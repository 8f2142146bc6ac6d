import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import type { MessageReport } from '../../../worker/report/message.ts';
import { runCli } from '../../fixture/cli.ts';
import { spawnFile } from '../../fixture/command.ts';
import { CHAT, eachInWorld, shown, start, stopGateways, trouble, world } from '../../fixture/each-test.ts';
import { jobsIn } from '../../fixture/job-keys.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

eachInWorld();

const OTHER = 1002;
const FAST = { reconcileEveryMs: 100, watchEveryMs: 100, alertEveryMs: 50 };

const cli = (...args: string[]) => runCli(args, world.env);

/** Waits until a chat's message is accepted, first of its lane, and no job. */
async function untilItRests(chat: number): Promise<void> {
  await until('message that rests', async () => {
    const [depth, waiting, active, delayed] = await Promise.all([
      world.peek.llen(world.keys.lane(chatKey(chat))),
      world.peek.llen(jobsIn(world.keys, 'wait')),
      world.peek.llen(jobsIn(world.keys, 'active')),
      world.peek.zcard(jobsIn(world.keys, 'delayed')),
    ]);
    return (depth > 0 && waiting + active + delayed === 0) || undefined;
  });
}

test('a paused chat accepts messages and answers none; resumed, it answers all in order; actions has who did what and why', async () => {
  world.claude.react((call) => ({ do: 'answer', text: `re ${call.pendingText}` }));
  await start({}, FAST);
  expect(await cli('pause', String(CHAT), '--why', 'a loop', '--by', 'ann')).toMatchObject({ code: 0 });
  expect(await cli('pause', String(CHAT))).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
  for (const words of ['one', 'two']) world.telegram.say(CHAT, words);
  await ask('hello', 1, OTHER);
  await untilItRests(CHAT);
  expect(world.claude.calls.filter(({ pendingText }) => pendingText !== 'hello')).toEqual([]);
  const now = JSON.parse((await cli('status', '--json')).stdout);
  expect(now.pauses).toEqual([expect.objectContaining({ chat: String(CHAT), by: 'ann', why: 'a loop' })]);
  expect(now.ledger).toMatchObject({ pending: 2, unaccounted: 0 });
  const [entry = ''] = await world.peek.lrange(world.keys.lane(chatKey(CHAT)), 0, 0);
  const told = await cli('message', entry);
  expect(told.stdout).toMatch(/PAUSED by ann/);
  expect(told.stdout).toContain(`npm run cli -- resume ${CHAT}`);
  expect(await cli('resume', String(CHAT))).toMatchObject({ code: 0 });
  await nextOutcome(world, CHAT, 2);
  expect(shown()).toEqual(expect.arrayContaining(['re one', 're two']));
  expect(shown().indexOf('re one')).toBeLessThan(shown().indexOf('re two'));
  expect(await cli('resume', String(CHAT), '--by', 'bob')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/was not paused/),
  });
  const actions = JSON.parse((await cli('actions', '--json')).stdout);
  const target = String(CHAT);
  expect(actions.at(-1)).toMatchObject({ deed: 'pause', target, by: 'ann', why: 'a loop' });
  expect(actions[0]).toMatchObject({ deed: 'resume', target, by: 'bob', why: '' });
  expect((await cli('actions', '--limit', '1')).stdout).toMatch(/UTC {2}bob {2}resume {2}1001 {2}–\n$/);
});

test('a pause of everything survives a restart, holds commands too, and status is red with who and why', async () => {
  await start({}, FAST);
  expect(await cli('pause', '--why', 'maintenance', '--by', 'bob')).toMatchObject({ code: 0 });
  await stopGateways();
  await start({}, FAST);
  world.telegram.say(CHAT, 'hello');
  world.telegram.say(CHAT, '/help');
  await untilItRests(CHAT);
  await until('worker that says that it lives', async () => (await world.peek.zcard(world.keys.workers)) || undefined);
  expect(world.claude.calls).toEqual([]);
  expect(await cli('status')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^RED {2}Everything is paused by bob: maintenance\./),
  });
  expect(await cli('resume')).toMatchObject({ code: 0 });
  await nextOutcome(world, CHAT, 2);
});

test('a turn that is put off when its chat is paused rests at its next attempt, and is answered when it is resumed', async () => {
  const mend = trouble(LIES.overloaded);
  await start({}, { ...FAST, RETRY_MS: 1_000 });
  world.telegram.say(CHAT, 'hello');
  await until('delayed job', async () => (await world.peek.zcard(jobsIn(world.keys, 'delayed'))) === 1 || undefined);
  await cli('pause', String(CHAT));
  const calls = world.claude.calls.length;
  mend();
  await untilItRests(CHAT);
  expect(world.claude.calls.length).toBe(calls);
  await cli('resume', String(CHAT));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

const retry = (...args: string[]) => cli('retry', ...args);
const HEADERS = { 'retry-after': '250' };
const OVERLOADED = { do: 'error', status: 529, type: 'overloaded_error', message: 'no', headers: HEADERS } as const;

test('a message that was put off says why, after which attempt, and what can be done; it is tried at once', async () => {
  const mend = trouble(OVERLOADED);
  await start();
  world.telegram.say(CHAT, 'my secret question');
  await until('delayed job', async () => (await world.peek.zcard(jobsIn(world.keys, 'delayed'))) === 1 || undefined);
  const [[entry = ''] = []] = await world.peek.xrange(world.keys.inbound, '-', '+');
  const report = JSON.parse((await cli('message', entry, '--json')).stdout) as MessageReport;
  expect(report).toMatchObject({
    ...{ entry, chat: String(CHAT), kind: 'text', can: ['retry', 'cancel', 'show chat'] },
    place: { at: 'delayed', untilMs: expect.any(Number), reason: 'overloaded' },
  });
  expect(report.timeline.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['accepted', 'begun', 'attempt']));
  const words = await cli('message', entry);
  expect(words.stdout).toMatch(/Now: put off \(overloaded\), next try in \d/);
  expect(words.stdout).toContain(`npm run cli -- retry ${entry}`);
  expect(words.stdout + JSON.stringify(report)).not.toContain('secret');
  mend();
  const tried = await retry(entry, '--why', 'it is back');
  expect(tried).toMatchObject({ code: 0, stdout: expect.stringMatching(/being tried now/) });
  expect(await nextOutcome(world, CHAT)).toMatchObject({ entry, outcome: 'answered' });
  expect(await retry(entry)).toMatchObject({ code: 1, stdout: expect.stringMatching(/has ended: answered/) });
});

test('a failed message comes back by the entry that its alert names, once, however often it is retried, also after a kill', async () => {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  const { entry } = await ask('hello');
  world.claude.react((call) => ({ do: 'answer', text: `re ${call.pendingText}` }));
  const child = await spawnFile('worker/cli/main.ts', ['retry', entry], world.env);
  const ended = once(child, 'exit');
  await until('action', async () => (await world.peek.xlen(world.keys.actions)) || undefined);
  child.kill('SIGKILL');
  await ended;
  const isKept = (await world.peek.xlen(world.keys.dead)) === 1;
  const both = await Promise.all([retry(entry), retry(entry)]);
  expect(both.some(({ code }) => code === 0)).toBe(isKept);
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect((await retry(entry)).code).toBe(1);
  expect(shown().filter((text) => text === 're hello')).toHaveLength(1);
  expect(await world.peek.xlen(world.keys.dead)).toBe(0);
  expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '2', settled: '2' });
});

const cancel = (...args: string[]) => cli('cancel', ...args);

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
  expect(shown().some((text) => /The operator of this bot cancelled this message/.test(text))).toBe(true);
  expect(await cancel(entry)).toMatchObject({ code: 1, stdout: expect.stringMatching(/has ended/) });
});

test('cancel of a chat ends all that waits as /stop does, with one reply and a balanced ledger; twice is the same', async () => {
  givenHanging();
  await start();
  for (const words of ['hang', 'two', 'three']) world.telegram.say(CHAT, words);
  await lane(3);
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'hang');
  // In a paused chat nothing ends between the two.
  await cli('pause', String(CHAT));
  const both = await Promise.all([cancel(String(CHAT)), cancel(String(CHAT))]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  await cli('resume', String(CHAT));
  await nextOutcome(world, CHAT, 4);
  const outcomes = await settledOutcomes(world);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled', 'cancelled', 'command']);
  expect(shown().filter((text) => text.startsWith('Stopped.'))).toHaveLength(1);
  expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '4', settled: '4' });
  expect(await cancel(String(CHAT))).toMatchObject({ code: 1, stdout: expect.stringMatching(/has nothing waiting/) });
});
