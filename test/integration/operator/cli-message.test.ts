import { expect, test } from '@jest/globals';
import { chatKey, type EntryId } from '../../../shared/redis/keys.ts';
import type { MessageReport } from '../../../worker/report/message.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { jobsIn } from '../../fixture/job-keys.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

function message(...args: string[]) {
  return runCli(['message', ...args], world.env);
}

async function reported(id: string): Promise<MessageReport> {
  const { code, stdout, stderr } = await message(id, '--json');
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as MessageReport;
}

async function pending(): Promise<EntryId[]> {
  return (await world.peek.xrange(world.keys.inbound, '-', '+')).map(([id]) => id as EntryId);
}

/** Whether the lane of the chat has so many messages. */
async function isDeep(messages: number): Promise<true | undefined> {
  return (await world.peek.llen(world.keys.lane(chatKey(CHAT)))) === messages || undefined;
}

test('a message that was put off says why, after which attempt, when it is tried next, and what can be done', async () => {
  // Longer than two looks from the command line take on a busy machine.
  const headers = { 'retry-after': '60' };
  world.claude.react(() => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded', headers }));
  await start();
  world.telegram.say(CHAT, 'my secret question');
  await until('delayed job', async () => (await world.peek.zcard(jobsIn(world.keys, 'delayed'))) === 1 || undefined);
  const [entry = ''] = await pending();
  const report = await reported(entry);
  expect(report).toMatchObject({
    entry,
    chat: String(CHAT),
    kind: 'text',
    place: { at: 'delayed', untilMs: expect.any(Number), reason: 'overloaded' },
    can: ['retry', 'cancel', 'show chat'],
  });
  expect(report.timeline.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['accepted', 'begun', 'attempt']));
  const words = await message(entry);
  expect(words.stdout).toMatch(/Now: put off \(overloaded\), next try (?:now|in \d+ s)/);
  expect(words.stdout).toContain(`npm run cli -- retry ${entry}`);
  expect(words.stdout + JSON.stringify(report)).not.toContain('secret');
});

test('a message behind another says which, and later that it waited for it; its trace id names it as well', async () => {
  world.claude.react((call) => ({ do: 'answer', text: 'yes', afterMs: call.pendingText === 'slow' ? 3_000 : 0 }));
  await start();
  world.telegram.say(CHAT, 'slow');
  await world.claude.waitForCall((call) => call.pendingText === 'slow');
  world.telegram.say(CHAT, 'quick');
  await until('lane of 2', () => isDeep(2));
  const [first = '', second = ''] = await pending();
  const [running, waiting] = await Promise.all([reported(first), reported(second)]);
  expect(running.place).toMatchObject({ at: 'running', step: 'asking the model', attempt: 1 });
  expect(waiting.place).toEqual({ at: 'lane', position: 1, behind: first });
  await nextOutcome(world, CHAT, 2);
  const ended = await reported(waiting.traceId);
  expect(ended).toMatchObject({
    entry: second,
    outcome: { outcome: 'answered' },
    turn: { parts: { total: 1, sent: 1 } },
  });
  expect(ended.timeline.find(({ kind }) => kind === 'waited')?.text).toContain(first);
  expect((await message(second)).stdout).toMatch(/^Message .*\nEnded \d+ s ago: answered/);
});

test('a failed message is found by its entry and by the id of its dead letter', async () => {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  world.telegram.say(CHAT, 'hello');
  const { entry } = await nextOutcome(world, CHAT);
  const [[letter = ''] = []] = await world.peek.xrange(world.keys.dead, '-', '+');
  expect(await reported(letter)).toMatchObject({ entry, letter, can: ['retry', 'show letter', 'show chat'] });
  expect((await message(entry)).stdout).toMatch(/failed \(authentication\); kept as dead letter/);
});

test('an id of which nothing is kept exits 1 and says what ids look like; what is no id exits 2', async () => {
  for (const id of ['1700000000000-0', '0af7651916cd43dd8448eb211c80319c'])
    expect(await message(id)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Nothing is kept .* such as 17/),
    });
  for (const args of [[], ['hello'], ['1-0', '2-0'], ['--wings']]) expect((await message(...args)).code).toBe(2);
});
