import { expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { CHAT, mainCalls, shown, spawn, start, stopGateways, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { callsTools, resultsIn } from '../../fixture/notebook.ts';
import {
  buttonsOf,
  eachWithNotebook,
  notebook,
  outcomes,
  PATIENCE_MS,
  press,
  question,
  untilParked,
  wantsToWrite,
} from '../../fixture/parked.ts';
import { call } from '../../stand-in/claude/specimens.ts';

eachWithNotebook();

test('a tool that may change something waits for a press without a job; what is allowed once is called once', async () => {
  await start();
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  expect(await notebook.notes()).toEqual([]);
  const asked = await question();
  expect(asked.text).toBe('May I do this?\n\nnotebook: write\n▸ text: t1');
  expect(buttonsOf(asked).map(({ text }) => text)).toEqual(['Allow once', 'Always here', 'Decline']);
  expect(buttonsOf(asked).map(({ style }) => style)).toEqual([undefined, undefined, 'danger']);
  await press('once');
  await untilSettled(world, 2, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', 'command']);
  expect(await notebook.notes()).toEqual(['write t1']);
  expect(shown().slice(1).sort()).toEqual(['Allowed once by User 1001.', 'Done after 1 rounds.']);
  const rings = world.telegram.shown(CHAT).flatMap(({ notified }) => notified ?? []);
  expect(rings).toEqual([asked.text, 'Done after 1 rounds.']);
  expect(buttonsOf(await question())).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
});

test.each<[string, RegExp]>([
  ['no', /The person declined/],
  ['words', /did not allow it, and wrote instead: Not today, use pencil/],
])('a call that is declined by %s is not made, and the model is told', async (how, told) => {
  await start();
  wantsToWrite('t1', 't2');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  if (how === 'no') await press('no');
  else world.telegram.say(CHAT, 'Not today, use pencil');
  await untilSettled(world, 2, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(how === 'no' ? ['answered', 'command'] : ['answered', 'merged']);
  expect(await notebook.notes()).toEqual([]);
  const last = mainCalls().at(-1);
  expect(last && resultsIn(last)).toEqual([
    expect.objectContaining({ is_error: true, content: [{ type: 'text', text: expect.stringMatching(told) }] }),
    expect.objectContaining({ is_error: true }),
  ]);
  expect(world.claude.violations()).toEqual([]);
});

test('nobody presses: after APPROVAL_TIMEOUT_MS the model learns so, and the message is answered', async () => {
  await start({ APPROVAL_TIMEOUT_MS: '500' });
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const last = mainCalls().at(-1);
  expect(JSON.stringify(last && resultsIn(last))).toContain('Nobody answered in time');
  await press('once').catch(() => undefined);
  expect(await notebook.notes()).toEqual([]);
});

test('/stop ends a turn that waits, and a press after it does nothing and is told so', async () => {
  await start();
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  const [{ callback_data: data } = { callback_data: '' }] = buttonsOf(await question());
  world.telegram.say(CHAT, '/stop');
  await untilSettled(world, 2, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['cancelled', 'command']);
  world.telegram.say(CHAT, data);
  await untilSettled(world, 3, PATIENCE_MS);
  expect(shown().at(-1)).toBe(EN.approval.over);
  expect(await notebook.notes()).toEqual([]);
});

test('two presses at once on two workers: the first decides, the other is told, and the call is made once', async () => {
  await start();
  await start();
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  const asked = await question();
  for (const word of ['once', 'no', 'once']) {
    const button = buttonsOf(asked).find(({ callback_data }) => callback_data.endsWith(` ${word}`));
    world.telegram.press(CHAT, asked.messageId, button?.callback_data ?? '');
  }
  await untilSettled(world, 4, PATIENCE_MS);
  expect(await notebook.notes()).toEqual(['write t1']);
  expect(shown().filter((text) => text === EN.approval.over)).toHaveLength(2);
});

test('a press that names the question of another chat, or none at all, decides nothing', async () => {
  await start();
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  const data = buttonsOf(await question())[0]?.callback_data ?? '';
  for (const forged of [data, '/decide', '/decide 1-1 1 once', `${data} x`, data.replace(/once$/, '7')])
    world.telegram.say(1002, forged);
  await untilSettled(world, 5, PATIENCE_MS);
  expect(world.telegram.shown(1002).filter(({ text }) => text === EN.approval.over)).toHaveLength(5);
  expect(await notebook.notes()).toEqual([]);
});

test('the model asks with choices: a press answers, and a written text does as well', async () => {
  await start();
  const ask = (id: string) =>
    call(id, { name: 'ask_user', input: { question: 'Which colour?', choices: ['red', 'blue'] } });
  world.claude.react(callsTools([ask('q1')], [ask('q2')]));
  world.telegram.say(CHAT, 'Paint it');
  await press('1', { title: /^Which colour/ });
  await until('asked again', () => shown().filter((text) => text === 'Which colour?').length === 2);
  world.telegram.say(CHAT, 'rather green');
  await untilSettled(world, 3, PATIENCE_MS);
  const answers = mainCalls().flatMap((each) => resultsIn(each).map(({ content }) => JSON.stringify(content)));
  expect(answers).toEqual([expect.stringContaining('blue'), expect.stringContaining('rather green')]);
  expect(world.claude.violations()).toEqual([]);
});

test.each<[Failpoint, number]>([
  ['parked', 1],
  ['question shown', 1],
  ['question decided', 1],
  ['tool called', 1],
  ['tool result stored', 1],
])(
  'killed at "%s" (%i): one call or one honest word about it, one answer, and the press is told',
  async (step, nth) => {
    const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${nth}` });
    wantsToWrite('t1');
    world.telegram.say(CHAT, 'Write it down');
    const isBeforePress = step === 'parked' || step === 'question shown';
    if (!isBeforePress) await press('once');
    expect(await victim.ended).toBe('SIGKILL');
    await takeOver();
    if (isBeforePress) {
      await untilParked();
      await press('once');
    }
    await untilSettled(world, 2, PATIENCE_MS);
    expect((await outcomes()).sort()).toEqual(['answered', 'command']);
    expect(await notebook.notes()).toEqual(['write t1']);
    expect(shown().filter((text) => text.startsWith('Done'))).toHaveLength(1);
    expect(shown().filter((text) => /Allowed once/.test(text)).length).toBeGreaterThan(0);
  },
);

test('thirty calls in one round are one question about five; the model is told to make the others later', async () => {
  await start();
  wantsToWrite(...Array.from({ length: 30 }, (_, at) => `t${at}`));
  world.telegram.say(CHAT, 'Write all of it');
  await press('once');
  await untilSettled(world, 2, PATIENCE_MS);
  expect(await notebook.notes()).toHaveLength(5);
  const last = mainCalls().at(-1);
  expect((last ? resultsIn(last) : []).filter(({ is_error }) => is_error)).toHaveLength(25);
});

test('a turn that waits survives a restart, costs no attempt, and is not called unanswered', async () => {
  await start({ UNANSWERED_ALERT_MS: '300' }, { watchEveryMs: 50 });
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  await stopGateways();
  await start({}, { watchEveryMs: 50 });
  world.claude.react(({ pendingText }) => (pendingText === 'Hello' ? { do: 'answer', text: 'Hi' } : undefined));
  world.telegram.say(1002, 'Hello');
  expect(await nextOutcome(world, 1002)).toMatchObject({ outcome: 'answered' });
  await press('once');
  await untilSettled(world, 3, PATIENCE_MS);
  expect(
    (await settledOutcomes(world)).find(({ chat, outcome }) => chat === String(CHAT) && outcome === 'answered'),
  ).toMatchObject({
    attempts: 1,
  });
  expect(world.telegram.shown(9001).map(({ text }) => text)).toEqual([]);
});

test('a message whose question cannot be shown waits for nobody: it is overdue, and the operator is told', async () => {
  await start({ UNANSWERED_ALERT_MS: '1000' }, { watchEveryMs: 50 });
  wantsToWrite('t1');
  const throttled = { status: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
  world.telegram.fail('sendMessage', throttled, 1_000, ({ text }) => String(text).startsWith('May I'));
  world.telegram.say(CHAT, 'Write it down');
  await world.telegram.waitForText(9001, /1 message of 1 chat/, PATIENCE_MS);
});
