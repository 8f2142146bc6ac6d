import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { jobsIn } from '../../fixture/job-keys.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

const OTHER = 1002;
const FAST = { reconcileEveryMs: 100, watchEveryMs: 100, alertEveryMs: 50 };

function cli(...args: string[]) {
  return runCli(args, world.env);
}

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

test('a paused chat accepts messages and answers none, others are answered; resumed, it answers all in order', async () => {
  world.claude.react((call) => ({ do: 'answer', text: `re ${call.pendingText}` }));
  await start({}, FAST);
  expect(await cli('pause', String(CHAT), '--why', 'a loop', '--by', 'ann')).toMatchObject({ code: 0 });
  expect(await cli('pause', String(CHAT))).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
  for (const words of ['one', 'two']) world.telegram.say(CHAT, words);
  world.telegram.say(OTHER, 'hello');
  await nextOutcome(world, OTHER);
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
  expect(await cli('resume', String(CHAT))).toMatchObject({ code: 1, stdout: expect.stringMatching(/was not paused/) });
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

test('what waits too long in a paused chat is the incident paused, and not unanswered', async () => {
  await start({ UNANSWERED_ALERT_MS: '300' }, FAST);
  await cli('pause', String(CHAT));
  world.telegram.say(CHAT, 'hello');
  const book = () => world.peek.hgetall(world.keys.incidents);
  await until('incident', async () => ('incident:paused' in (await book()) ? true : undefined));
  expect(await book()).not.toHaveProperty('incident:unanswered');
  expect(JSON.parse((await cli('status', '--json')).stdout)).toMatchObject({ colour: 'yellow' });
  await cli('resume', String(CHAT));
  await nextOutcome(world, CHAT);
  await until('end', async () =>
    JSON.parse((await book())['incident:paused'] ?? '{}').isOpen === false ? true : undefined,
  );
});

test('a turn that is put off when its chat is paused rests at its next attempt, and is answered when it is resumed', async () => {
  let isUp = false;
  world.claude.react(() =>
    isUp
      ? { do: 'answer', text: 'here' }
      : { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' },
  );
  await start({}, { ...FAST, RETRY_MS: 1_000 });
  world.telegram.say(CHAT, 'hello');
  await until('delayed job', async () => (await world.peek.zcard(jobsIn(world.keys, 'delayed'))) === 1 || undefined);
  await cli('pause', String(CHAT));
  const calls = world.claude.calls.length;
  isUp = true;
  await untilItRests(CHAT);
  expect(world.claude.calls.length).toBe(calls);
  await cli('resume', String(CHAT));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('actions lists who paused what and why, the newest first', async () => {
  await cli('pause', String(CHAT), '--why', 'a loop', '--by', 'ann');
  await cli('resume', String(CHAT), '--by', 'bob');
  const kept = JSON.parse((await cli('actions', '--json')).stdout);
  expect(kept).toMatchObject([
    { deed: 'resume', target: String(CHAT), by: 'bob', why: '' },
    { deed: 'pause', target: String(CHAT), by: 'ann', why: 'a loop' },
  ]);
  expect((await cli('actions', '--limit', '1')).stdout).toMatch(/UTC {2}bob {2}resume {2}1001 {2}–\n$/);
});
