import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { buttonsOf } from '../../fixture/buttons.ts';
import { type ChangingNotebook, openChangingNotebook } from '../../fixture/changing-notebook.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { untilSettled } from '../../fixture/ledger.ts';
import { callsTools, use } from '../../fixture/notebook.ts';
import { GROUP, PATIENCE_MS, press, question } from '../../fixture/parked.ts';
import { variants } from '../../fixture/variants.ts';
import type { Block } from '../../stand-in/claude/request.ts';

const GUEST = 3003;
const WRITE = 'notebook: write';
let notebook: ChangingNotebook;

beforeEach(async () => {
  notebook = await openChangingNotebook();
});
eachInWorld(() => ({ env: { ...notebook.env, TELEGRAM_ALLOWED_IDS: `${CHAT},1002,${GROUP}` } }));
afterEach(() => notebook.remove());

/** Somebody writes, and the model calls these tools for it. */
function ask(uses: Block[], { chat = CHAT, from = CHAT } = {}): void {
  world.claude.react(callsTools(uses));
  if (chat === CHAT) world.telegram.say(chat, 'Write it down');
  else
    world.telegram.say(chat, `/x@${world.telegram.username} Write it down`, { fromId: from, chatType: 'supergroup' });
}

const questions = (chat = CHAT) => shown(chat).filter((text) => text.startsWith('May I'));
const untilAsked = (count: number, chat = CHAT) =>
  until(`question ${count}`, () => questions(chat).length === count, PATIENCE_MS);

variants<[string, { description: string; annotations?: object; inputSchema?: object }]>([
  ['description', { description: 'Writes, and tells everybody.' }],
  ['annotations', { description: 'Writes.', annotations: { destructiveHint: true } }],
  ['schema', { description: 'Writes.', inputSchema: { type: 'object', properties: { to: { type: 'string' } } } }],
])('a grant ends when the %s of the tool changes, and is in force for the same definition only', async (_, says) => {
  await start();
  ask([use('t1', 'write')]);
  await press('always');
  await untilSettled(world, 2, PATIENCE_MS);
  ask([use('t2', 'write')]);
  await untilSettled(world, 3, PATIENCE_MS);
  expect(notebook.calls).toEqual(['write t1', 'write t2']);
  await notebook.change(says);
  const asking = EN.tools.asking([WRITE, 'notebook: send']);
  await until('it asks again', async () => {
    const settled = shown().length;
    world.telegram.say(CHAT, '/tools');
    await until('a list', () => shown().length > settled);
    return shown().at(-1)?.includes(asking) === true;
  });
  ask([use('t3', 'write')]);
  await untilAsked(2);
  expect(notebook.calls).toEqual(['write t1', 'write t2']);
});

test('in one question about several tools, each "Always" names its tool, and covers nothing else', async () => {
  await start();
  ask([use('t1', 'write'), use('t2', 'send'), use('t3', 'write')]);
  const buttons = buttonsOf(await question()).map(({ text }) => text);
  expect(buttons).toEqual(['Allow once', `Always here: ${WRITE}`, 'Always here: notebook: send', 'Decline']);
  await press('always0');
  const granted = await world.telegram.waitForText(CHAT, /is now allowed here/);
  expect(granted.text).toMatch(/^“notebook: write” is now allowed here until \d{4}-\d\d-\d\d \(by User 1001\)\./);
  expect(granted.text).toContain(EN.approval.stillOpen);
  expect(notebook.calls).toEqual([]);
  await press('no');
  await untilSettled(world, 3, PATIENCE_MS);
  expect(notebook.calls).toEqual(['write t1', 'write t3']);
  expect(shown()).toContain('Declined by User 1001.');
  ask([use('t4', 'send')]);
  await untilAsked(2);
});

test('"Always" of each tool, one after the other, allows all of a question', async () => {
  await start();
  ask([use('t1', 'write'), use('t2', 'send')]);
  await press('always1');
  await until('the first', () => shown().some((text) => text.includes('is now allowed here')));
  await press('always0');
  await untilSettled(world, 3, PATIENCE_MS);
  expect(notebook.calls.toSorted()).toEqual(['send t2', 'write t1']);
  ask([use('t3', 'send'), use('t4', 'write')]);
  await untilSettled(world, 4, PATIENCE_MS);
  expect(questions()).toHaveLength(1);
});

test('a grant is for people of the allow list: about a call for a guest they are asked, without "Always"', async () => {
  await notebook.allow({ guests: true });
  await start();
  ask([use('t1', 'write')], { chat: GROUP });
  await press('always', { chat: GROUP });
  await untilSettled(world, 2, PATIENCE_MS);
  ask([use('t2', 'write')], { chat: GROUP, from: 1002 });
  await untilSettled(world, 3, PATIENCE_MS);
  expect(notebook.calls).toEqual(['write t1', 'write t2']);
  ask([use('t3', 'write')], { chat: GROUP, from: GUEST });
  await untilAsked(2, GROUP);
  const newest = world.telegram.shown(GROUP).findLast(({ text }) => text.startsWith('May I'));
  expect(buttonsOf(newest).map(({ text }) => text)).toEqual(['Allow once', 'Decline']);
  expect(notebook.calls).toHaveLength(2);
});

test('what only reads never asks, what is granted asks once; /tools says who granted it, and takes it back at once, also while a message is answered', async () => {
  await start();
  ask([use('l1', 'look')]);
  await untilSettled(world, 1, PATIENCE_MS);
  expect(notebook.calls.splice(0)).toEqual(['look l1']);
  ask([use('t1', 'write')]);
  await press('always');
  await untilSettled(world, 3, PATIENCE_MS);
  world.telegram.say(CHAT, '/tools');
  const list = await world.telegram.waitForText(CHAT, /^I may use these here without asking/);
  expect(list.text).toMatch(/\nnotebook: write \(allowed by User 1001 until \d{4}-\d\d-\d\d\)\n/);
  const [button] = buttonsOf(list);
  expect(button?.text).toBe(`Ask before using ${WRITE}`);
  const { promise: after, resolve } = Promise.withResolvers<void>();
  const wants = callsTools([use('t2', 'write')]);
  world.claude.react((call) => {
    const reaction = wants(call);
    return reaction?.do === 'answer' && reaction.content !== undefined ? { ...reaction, after } : reaction;
  });
  const before = mainCalls().length;
  world.telegram.say(CHAT, 'And again');
  await until('the model is asked', () => mainCalls().length > before);
  world.telegram.press(CHAT, list.messageId, button?.callback_data ?? '');
  await untilSettled(world, 5, PATIENCE_MS);
  resolve();
  await untilAsked(2);
  expect(notebook.calls).toEqual(['write t1']);
});

test('a grant is for 90 days; one that is over is none, nor is one of an early build, by name alone', async () => {
  await start();
  ask([use('t1', 'write')]);
  await press('always');
  await untilSettled(world, 2, PATIENCE_MS);
  const chat = world.keys.chat(chatKey(CHAT));
  const [grant] = JSON.parse((await world.peek.hget(chat, 'toolGrants')) ?? '[]');
  const days = (grant.untilMs - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(89);
  expect(days).toBeLessThanOrEqual(90.001);
  const over = JSON.stringify([{ ...grant, untilMs: Date.now() - 1 }]);
  await world.peek.hset(chat, 'toolGrants', over, 'usualTools', 'notebook__write');
  ask([use('t2', 'write')]);
  await untilAsked(2);
  expect(notebook.calls).toEqual(['write t1']);
});
