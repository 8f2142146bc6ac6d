import { afterEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { readActions } from '../../../shared/state/process/actions.ts';
import { TEXTS } from '../../../shared/texts/language.ts';
import { runCli } from '../../fixture/cli.ts';
import { dataByLabel } from '../../fixture/desk.ts';
import {
  CHAT,
  eachInWorld,
  mainCalls,
  shown,
  spawn,
  start,
  stopGateways,
  takeOver,
  world,
} from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import type { SayOptions } from '../../stand-in/telegram/inbound.ts';

const RITA = 4_004;
const SOMEBODY = 4_005;
const FAST = { watchEveryMs: 50 };

/** Looks at every command that Redis gets. */
let monitor: Redis | undefined;
afterEach(() => {
  monitor?.disconnect();
  monitor = undefined;
});

eachInWorld({ env: { PAIRING: 'on', TELEGRAM_OPERATOR_IDS: String(ALERT_CHAT) } });

const cli = (...args: string[]) => runCli(args, world.env);
const requests = () => world.peek.hgetall(world.keys.strangers);
const alerts = () => shown(ALERT_CHAT).filter((text) => text.includes('asks to use the bot'));

/** Says something, and waits until the gateway is done with the update. */
async function tell(chat: number, text: string, options?: SayOptions): Promise<void> {
  const at = world.telegram.say(chat, text, options);
  await until('it is confirmed', () => world.telegram.confirmedUpTo() >= at || undefined);
}

/** A stranger writes for the first time. Returns the code that the stranger reads. */
async function knock(chat: number, text = 'may I?', options?: SayOptions): Promise<string> {
  await tell(chat, text, options);
  const { text: notice } = await world.telegram.waitForText(chat, /[B-Y]{6}/);
  return /[B-Y]{6}/.exec(notice)?.[0] ?? '';
}

/** Waits for the alert about a code. Returns its text and how its buttons are pressed. */
async function alerted(code: string) {
  const { messageId, text } = await world.telegram.waitForText(ALERT_CHAT, new RegExp(code));
  const buttons = () => dataByLabel(world.telegram.shown(ALERT_CHAT).find((each) => each.messageId === messageId));
  const press = (label: string, by = ALERT_CHAT) =>
    world.telegram.press(ALERT_CHAT, messageId, buttons()[label] ?? `no button ${label}`, by);
  return { text, labels: () => Object.keys(buttons()), press };
}

/** Writes until an answer comes: a process uses an allow list that it has read for a second. */
const untilAnswered = (chat: number, text: string) =>
  until('an answer', async () => {
    await tell(chat, text);
    return mainCalls().some(({ pendingText }) => pendingText === text) || undefined;
  });

/** Lets an hour pass for everybody who waits. */
async function passAnHour(): Promise<void> {
  for (const [id, text] of Object.entries(await requests()))
    await world.peek.hset(world.keys.strangers, id, text.replace(/"atMs":\d+/, `"atMs":${Date.now() - 3_600_100}`));
}

test('a stranger reads a code, an operator lets them in, and the next message is answered, the first one never', async () => {
  const commands: string[] = [];
  monitor = await (world.peek as Redis).monitor();
  monitor.on('monitor', (_time: string, words: string[]) => commands.push(words.join(' ')));
  await start({}, FAST);
  const names = { firstName: '[Rita]\n"the admin"\u202e', username: 'rita_r', languageCode: 'zh-TW' };
  const code = await knock(RITA, 'a secret word', names);
  expect(shown(RITA)).toEqual([TEXTS['zh-hant'].pairing(code)]);
  const alert = await alerted(code);
  expect(alert.text).toMatch(/^⚪️ Info: Somebody asks to use the bot\nSince /);
  expect(alert.text).toContain(`"Rita the admin" (@rita_r, id ${RITA}) wrote to the bot`);
  expect(alert.labels()).toEqual(['Allow', 'Ignore']);
  await tell(RITA, 'another secret word');
  expect(await nextOutcome(world, RITA)).toMatchObject({ outcome: 'command', reason: 'pair' });
  const traces = (await world.peek.keys('*')).filter((key) => /:(?:chat|session|log|usage|memory|spending)/.test(key));
  expect(traces).toEqual([]);
  alert.press('Allow', 1002);
  await until('an answer', () => world.telegram.answers.find(({ text }) => /operators/.test(text ?? '')));
  expect(await world.peek.exists(world.keys.allowed)).toBe(0);
  alert.press('Allow');
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: (?:.|\n)*4004 will be allowed within a second.* · by /);
  expect(alert.labels()).toEqual([]);
  await untilAnswered(RITA, 'and now?');
  await world.telegram.waitForText(RITA, /You said: and now\?/);
  expect(shown(RITA)[1]).toMatch(/^You said/);
  expect([await requests(), alerts().length]).toEqual([{}, 1]);
  expect(commands.filter((command) => /secret word/.test(command))).toEqual([]);
  expect(JSON.stringify(world.claude.calls)).not.toContain('secret word');
  const [action] = await readActions(world.peek, 1);
  expect(action).toMatchObject({ deed: 'allow', target: String(RITA), why: `a button of pairing:${RITA}` });
});

test('the command line lists who waits, lets in by code once, and takes no code that is used, wrong or old', async () => {
  await start({}, FAST);
  const code = await knock(RITA, 'hello', { firstName: 'Rita' });
  const unknown = { code: 1, stderr: expect.stringMatching(/^Nobody waits under [A-Z]{6} any more/) };
  expect(await cli('allow', 'BBBBBB')).toMatchObject(unknown);
  expect((await cli('allow')).stdout).toMatch(new RegExp(`Waits +"Rita" \\(id 4004\\) wrote .* code ${code}\\.`));
  await alerted(code);
  expect((await cli('allow', code.toLowerCase())).stdout).toMatch(/^4004 will be allowed/);
  expect(await cli('allow', code)).toMatchObject(unknown);
  expect((await cli('allow')).stdout).not.toContain('Waits');
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: /);
  const old = await knock(SOMEBODY);
  await alerted(old);
  await passAnHour();
  expect(await cli('allow', old)).toMatchObject(unknown);
  const ended = () => shown(ALERT_CHAT).filter((text) => text.startsWith('Resolved')).length;
  await until('the end of both', () => ended() === 2 || undefined);
  await tell(SOMEBODY, 'once more');
  await world.telegram.waitForText(SOMEBODY, new RegExp(`code is (?!${old})[B-Y]{6}, good`));
});

test('a thousand strangers in a minute: five read a code, the operators get five alerts, and nothing grows', async () => {
  await start({}, FAST);
  let last = 0;
  for (let id = 10_000; id < 11_000; id++) last = world.telegram.say(id, `spam ${id}`);
  for (let id = 10_000; id < 10_010; id++) last = world.telegram.say(id, 'more spam');
  await until('all are confirmed', () => world.telegram.confirmedUpTo() >= last || undefined);
  const read = () => Array.from({ length: 1_000 }, (_, at) => shown(10_000 + at)).flat();
  await until('five of each', () => (read().length >= 5 && alerts().length >= 5) || undefined);
  await tell(CHAT, 'the others go on');
  await nextOutcome(world, CHAT);
  expect([read().length, alerts().length, Object.keys(await requests()).length]).toEqual([5, 5, 5]);
  expect(await settledOutcomes(world)).toHaveLength(6);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual(['the others go on']);
});

test('who is ignored stays silent for a month without blocking others, and can still be let in by id', async () => {
  await start({}, FAST);
  const code = await knock(RITA);
  (await alerted(code)).press('Ignore');
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: (?:.|\n)*4004 gets no reply for 30 days · by /);
  expect(await cli('allow', code)).toMatchObject({ code: 1 });
  await passAnHour();
  await tell(RITA, 'again?');
  for (const id of [1, 2, 3, 4, 5]) await knock(5_000 + id);
  await tell(5_006, 'one too many');
  expect([shown(RITA).length, shown(5_006).length]).toEqual([1, 0]);
  expect(await cli('allow', String(RITA))).toMatchObject({ code: 0 });
  await untilAnswered(RITA, 'now?');
});

test('only a message in private asks, and the command by hand, by whomever, is worth nothing', async () => {
  await start({}, FAST);
  const code = await knock(RITA);
  await tell(RITA, `/pair ${code}`);
  await tell(RITA, code);
  await tell(CHAT, `/pair ${code}`);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  await tell(-500, '/start', { chatType: 'supergroup', fromId: SOMEBODY });
  await tell(ALERT_CHAT, 'is anybody here?');
  await tell(SOMEBODY, '', { extra: { pinned_message: { message_id: 1 } } });
  expect(Object.keys(await requests())).toEqual([String(RITA)]);
  expect([shown(RITA).length, shown(SOMEBODY).length, shown(-500).length]).toEqual([1, 0, 0]);
  expect(await world.peek.exists(world.keys.allowed)).toBe(0);
});

test('a process that dies after the request, or after it stored the message, leaves one notice and one alert', async () => {
  const victim = await spawn({ SPILLWAY_FAIL_AT: 'accepted:1' });
  const at = world.telegram.say(RITA, 'may I?');
  await victim.ended;
  const next = { name: 'Sam', username: 'sam', code: 'BCDFGH', updateId: at + 1, atMs: Date.now() };
  await world.peek.hset(world.keys.strangers, String(SOMEBODY), JSON.stringify(next));
  await takeOver();
  expect(await knock(SOMEBODY)).toBe('BCDFGH');
  await nextOutcome(world, RITA);
  await until('two alerts', () => alerts().length === 2 || undefined, 20_000);
  expect([shown(RITA).length, shown(SOMEBODY).length]).toEqual([1, 1]);
});

test('with PAIRING=off a stranger is ignored, and an unreadable request blocks nobody', async () => {
  await start({ PAIRING: 'off' }, FAST);
  await tell(RITA, 'may I?');
  expect([shown(RITA), await requests()]).toEqual([[], {}]);
  await world.peek.hset(world.keys.strangers, '1', 'of a later version');
  await stopGateways();
  await start({ PAIRING: 'on' }, FAST);
  await knock(SOMEBODY);
  expect(Object.keys(await requests())).toEqual([String(SOMEBODY)]);
});
