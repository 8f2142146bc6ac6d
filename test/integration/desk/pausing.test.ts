import { expect, test } from '@jest/globals';
import { EVERY_CHAT, readPauses } from '../../../shared/state/lane/stops.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { ask, OPERATOR, pressed, startDesk } from '../../fixture/desk.ts';
import { CHAT, eachInWorld, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';

eachInWorld();

const pausesNow = async () => (await readPauses(world.peek, world.keys)).map(({ chat, by, why }) => [chat, by, why]);

async function givenChat(): Promise<void> {
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
}

test('a chat is paused with a reason, and goes on with the button under the reply, but for another pause', async () => {
  await startDesk();
  await givenChat();
  const paused = await ask(`/pause ${CHAT} the <b>database</b>\nmoves`, { firstName: 'Ann‮\n*x*' });
  expect(paused.text).toBe(`Chat ${CHAT} is paused: its messages wait.`);
  expect(await pausesNow()).toEqual([[String(CHAT), 'Ann *x* (9001)', 'the <b>database</b> moves']]);
  expect((await readActions(world.peek, 1))[0]).toMatchObject({
    deed: 'pause',
    target: String(CHAT),
    by: 'Ann *x* (9001)',
  });
  expect((await ask(`/pause ${CHAT}`)).text).toMatch(
    /^Chat 1001 was paused already, \d+ s ago by Ann \*x\* \(9001\): the <b>database<\/b> moves\.$/,
  );
  world.telegram.say(CHAT, 'are you there?');
  expect((await pressed(paused, `Resume ${CHAT}`)).text).toBe(`Chat ${CHAT} goes on within seconds.`);
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect((await pressed(paused, `Resume ${CHAT}`)).text).toBe(`Chat ${CHAT} was not paused.`);
  await ask('/pause all');
  await ask(`/pause ${CHAT}`);
  const one = await ask(`/resume ${CHAT}`);
  expect(one.text).toBe(`Chat ${CHAT} goes on within seconds. But every chat is paused.`);
  await ask(`/pause ${CHAT}`);
  const all = await pressed(one, 'Resume all');
  expect(all.text).toBe(`Every chat goes on within seconds. Still paused by themselves: ${CHAT}.`);
  const which = await ask('/resume');
  expect(which.text).toMatch(/^Name a chat by its number, .* \/resume all ends that of every chat\.$/);
  expect(which.buttons).toEqual({ [`Resume ${CHAT}`]: `/desk resume ${CHAT}` });
});

test('a pause without a chat offers the one in trouble, and one of no known chat pauses nothing', async () => {
  world.claude.react(({ pendingText }) =>
    pendingText === 'poison' ? { do: 'error', status: 400, type: 'invalid_request_error', message: 'no' } : undefined,
  );
  await startDesk();
  world.telegram.say(CHAT, 'poison');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  await world.telegram.waitForText(ALERT_CHAT, /^🟡 /u);
  const { text, buttons } = await ask('/pause');
  expect(text).toMatch(/^Name a chat by its number/);
  expect(buttons).toEqual({ [`Pause ${CHAT}`]: `/desk pause ${CHAT}` });
  for (const words of ['/pause 4242', '/pause -1001.7', '/pause everything', '/pause 1001x', '/resume 10 01'])
    expect((await ask(words)).text).toMatch(/^(?:Nothing is known of|“.*” is not the number|Chat 10 was not paused)/);
  expect(await pausesNow()).toEqual([]);
});

test('who is no operator is not heard there, and no command of theirs works elsewhere', async () => {
  await start({ TELEGRAM_OPERATOR_IDS: '1002' });
  world.telegram.say(ALERT_CHAT, '/pause all');
  world.telegram.say(CHAT, '/desk pause all');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  expect(await pausesNow()).toEqual([]);
});

test('killed when the pause was done, it stands once and its reply comes', async () => {
  world.env.TELEGRAM_OPERATOR_IDS = String(OPERATOR);
  const gateway = await spawn({ SPILLWAY_FAIL_AT: 'act done:1' });
  world.telegram.say(ALERT_CHAT, '/pause all now', { firstName: 'Ann' });
  expect(await gateway.ended).toBe('SIGKILL');
  await takeOver();
  expect(await nextOutcome(world, ALERT_CHAT)).toMatchObject({ outcome: 'command', reason: 'desk' });
  expect(await pausesNow()).toEqual([[EVERY_CHAT, 'Ann (9001)', 'now']]);
  const replies = world.telegram.shown(ALERT_CHAT).filter(({ text }) => /Every chat/.test(text));
  expect(replies.map(({ text }) => text)).toEqual([expect.stringMatching(/Every chat is paused: its messages wait\./)]);
  expect(await settledOutcomes(world)).toHaveLength(1);
});
