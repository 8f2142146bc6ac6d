import { expect, test } from '@jest/globals';
import { keysOf } from '../../../shared/redis/keys.ts';
import { readPauses } from '../../../shared/state/lane/stops.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { DESK_WORDS } from '../../../shared/telegram/commands.ts';
import { ask, OPERATOR, pressed, startDesk } from '../../fixture/desk.ts';
import { CHAT, eachInWorld, mainCalls, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

const SECRET = 'my secret words';

/** A message that failed, since the endpoint takes no key, and its incident. */
async function givenFailed(env: Record<string, string> = {}) {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await startDesk(env);
  world.telegram.say(CHAT, SECRET, { firstName: '<b>Ann</b> *_`' });
  const { entry, traceId } = await nextOutcome(world, CHAT);
  await until('incident', async () => (await world.peek.hkeys(world.keys.incidents)).find((name) => /^inc/.test(name)));
  const [[letter = ''] = []] = await world.peek.xrange(world.keys.dead, '-', '+');
  return { entry, traceId, letter };
}

test('what is wrong, the message and its chat are read one from the other, and never the words of anybody', async () => {
  const { entry, traceId, letter } = await givenFailed({ LOG_CONTENT: 'true' });
  const status = await ask('/status');
  expect(status.text).toMatch(/^🔴 Red .*\n(?:.*\n)+Open incidents\n\n🔴 Page · provider: /u);
  expect(status.text).not.toMatch(/npm run|This conversation/);
  const incidents = await ask('/incidents');
  expect(incidents.text).toMatch(/^Incidents\n\nOpen\n\n🔴 Page · provider: .*\nOPEN for /u);
  const message = await ask(`/message ${entry}`);
  expect(message.text).toMatch(
    new RegExp(`^Message ${entry}\n\n🔴 Ended \\d+ s ago: failed \\(authentication\\)`, 'u'),
  );
  expect(message.text).toMatch(/\nTimeline\n\+0 s accepted\n/);
  for (const name of [traceId, letter]) expect((await ask(`/message ${name}`)).text).toMatch(`Message ${entry}\n`);
  expect(Object.keys(message.buttons)).toEqual([`Chat ${CHAT}`]);
  const chat = await pressed(message, `Chat ${CHAT}`);
  expect(chat.text).toMatch(new RegExp(`^Chat ${CHAT}, shard 0\n\nNo message is waiting.\n(?:.*\n)+Dead letters 1;`));
  expect(Object.keys(chat.buttons)).toEqual([`Pause ${CHAT}`, `Dead letters ${CHAT}`, `Message ${entry}`]);
  const dead = await pressed(chat, `Dead letters ${CHAT}`);
  expect(dead.text).toMatch(
    new RegExp(`^1 dead letter\n\nKept\n• ${letter}, message ${entry}, chat ${CHAT}, reason auth`),
  );
  const all = [status, incidents, message, chat, dead, await ask('/dead'), await ask('/audit'), await ask('/cost')];
  expect(all.map(({ text }) => text).join('\n')).not.toMatch(/secret|Ann/);
});

const ANSWERS: [command: string, reply: RegExp][] = [
  ['/message', /^Name an entry, such as 1700000000000-0, a trace id/],
  ['/message 1-0', /^Nothing is known about a message “1-0”/],
  ['/message <b>*x*</b>', /^“<b>\*x\*<\/b>” is not a valid argument: expected an entry/],
  [`/message ${'x'.repeat(2_000)}`, /^“x{39}…” is not a valid argument/],
  ['/chat', /^Add the number of a chat, as in alerts, for example \/chat 1001/],
  ['/chat Ann', /^“Ann” is not the number of a chat\. Add the number/],
  ['/chat 4242', /^Nothing is known about chat 4242\./],
  ['/chat -100.7', /^Nothing is known about chat -100\.7\./],
  ['/dead Ann', /^“Ann” is not the number of a chat/],
  ['/dead', /^0 dead letters\n\nKept None\.$/],
  ['/incidents', /^Incidents\n\nOpen No incident is open\.\n\nEnded in the last hour None\.$/],
];

test('a command is answered with the next step where it is about nothing; outcomes and cost are told of 1 to 90 days', async () => {
  await startDesk();
  for (const [command, reply] of ANSWERS) expect((await ask(command)).text).toMatch(reply);
  expect(mainCalls()).toEqual([]);
  const help = (await ask('/help')).text;
  expect(help.split('\n')).toHaveLength(11);
  expect(help).toMatch(/\n\/pause pauses a chat; add its number, or all, and why\n/);
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  const settled = ANSWERS.length + 2;
  const sum = `accepted ${settled + 1} - settled ${settled} - pending 1 = 0`;
  expect((await ask('/audit 3')).text).toMatch(`Audit of 3 days\n\n🟢 Proof, since counting began: ${sum}`);
  const cost = await ask('/cost');
  expect(cost.text).toMatch(
    new RegExp(
      `^Cost of 1 day\n\nCost \\$0\\.\\d+; .*\n\nCost By purpose: (?:.*\n)+Most expensive chats\n• ${CHAT}, messages 1`,
    ),
  );
  expect(cost.buttons).toMatchObject({ [`Chat ${CHAT}`]: `/desk chat ${CHAT}` });
  for (const days of ['0', '91', '-1', '1.5', '1e3', '٣', 'week', '9'.repeat(200)])
    expect((await ask(`/audit ${days}`)).text).toMatch(/^days must be a whole number from 1 to 90, not/);
});

test('a topic of a group is a chat of its own', async () => {
  const group = -1_002_000_000_001;
  await startDesk({ TELEGRAM_ALLOWED_IDS: String(group) });
  world.telegram.say(group, 'hello', { fromId: CHAT, topicId: 7, chatType: 'supergroup' });
  const { entry } = await nextOutcome(world, `${group}.7`);
  const { text, buttons } = await ask(`/chat ${group}.7`);
  expect(text).toMatch(`Newest outcomes\n• ${entry}, outcome answered, attempts 1, ended `);
  expect(buttons[`Pause ${group}.7`]).toBe(`/desk pause ${group}.7`);
});

test('where several shards have an entry of that id, the desk asks which one', async () => {
  for (const shard of [0, 1]) {
    const fields = ['entry', '1700000000000-0', 'message', '{}', 'record', '{}'];
    await world.peek.xadd(keysOf(shard).dead, '1700000000000-0', ...fields);
  }
  await startDesk({ SHARDS: '2' });
  world.telegram.say(ALERT_CHAT, '/message 1700000000000-0');
  const { messageId } = await world.telegram.waitForText(
    ALERT_CHAT,
    /^There are 2 messages .* Which one\? 0\/1700000000000-0, 1\/1700000000000-0$/,
  );
  world.telegram.press(ALERT_CHAT, messageId, '/desk message 1/1700000000000-0');
  await world.telegram.waitForText(ALERT_CHAT, /^Nothing is known about a message “1\/1700000000000-0”/);
});

test('the menu, status and help are those of operators, and in a conversation also those of its own people', async () => {
  const menuOf = async (language: string) => {
    const menu = await until('menu', () => world.telegram.menus()[`chat:${ALERT_CHAT}/${language}`]);
    return menu.map(({ command }) => command);
  };
  await startDesk();
  expect(await menuOf('zh')).toEqual(DESK_WORDS);
  await stopGateways();
  await startDesk({ TELEGRAM_ALLOWED_IDS: String(OPERATOR) });
  await until('both', async () => (await menuOf('zh')).length > DESK_WORDS.length || undefined);
  const all = await menuOf('');
  expect(all.slice(0, DESK_WORDS.length)).toEqual(DESK_WORDS);
  expect(all).toContain('memory');
  expect(new Set(all).size).toBe(all.length);
  expect((await ask('/status')).text).toMatch(/^\S+ (?:Green|Red|Yellow) (?:.*\n)+\nThis conversation\nModel: /u);
  expect((await ask('/help')).text).toMatch(
    /^Commands for operators:\n\/status the state of everything\n(?:.*\n)+\/memory /,
  );
});

test('a group of alerts hears its operators alone, and no command of theirs works elsewhere', async () => {
  const group = -1_002_000_000_009;
  world.telegram.openChat(group);
  await startDesk({ TELEGRAM_ALERT_CHAT_ID: String(group) });
  for (const text of ['/status', '/help', '/pause all'])
    world.telegram.say(group, text, { fromId: 1002, chatType: 'supergroup' });
  world.telegram.say(CHAT, '/desk pause all');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  world.telegram.say(group, '/status', { fromId: OPERATOR, chatType: 'supergroup', messageId: 500 });
  await until('reply', () => world.telegram.shown(group).find(({ replyTo }) => replyTo === 500));
  expect(world.telegram.shown(group)).toHaveLength(1);
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  expect(await pausesNow()).toEqual([]);
});

const pausesNow = async () => (await readPauses(world.peek, world.keys)).map(({ chat, by, why }) => [chat, by, why]);

test('a chat is paused with a reason, and goes on with the button under the reply, but for another pause', async () => {
  await startDesk();
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  const paused = await ask(`/pause ${CHAT} the <b>database</b>\nmoves`, { firstName: 'Ann‮\n*x*' });
  expect(paused.text).toBe(`Chat ${CHAT} is paused: its messages wait.`);
  expect(await pausesNow()).toEqual([[String(CHAT), 'Ann *x* (9001)', 'the <b>database</b> moves']]);
  const action = { deed: 'pause', target: String(CHAT), by: 'Ann *x* (9001)' };
  expect((await readActions(world.peek, 1))[0]).toMatchObject(action);
  expect((await ask(`/pause ${CHAT}`)).text).toMatch(
    /^Chat 1001 was paused already, \d+ s ago by Ann \*x\* \(9001\): the <b>database<\/b> moves\.$/,
  );
  world.telegram.say(CHAT, 'are you there?');
  expect((await pressed(paused, `Resume ${CHAT}`)).text).toBe(`Chat ${CHAT} resumes within seconds.`);
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect((await pressed(paused, `Resume ${CHAT}`)).text).toBe(`Chat ${CHAT} was not paused.`);
  await ask('/pause all');
  await ask(`/pause ${CHAT}`);
  const one = await ask(`/resume ${CHAT}`);
  expect(one.text).toBe(`Chat ${CHAT} resumes within seconds. The pause of all chats still holds.`);
  await ask(`/pause ${CHAT}`);
  const all = await pressed(one, 'Resume all');
  expect(all.text).toBe(`Every chat resumes within seconds. Still paused individually: ${CHAT}.`);
  const which = await ask('/resume');
  expect(which.text).toMatch(/^Add the number of a chat, .* \/resume all ends the pause of every chat\.$/);
  expect(which.buttons).toEqual({ [`Resume ${CHAT}`]: `/desk resume ${CHAT}` });
});

test('a pause without a chat offers the one in trouble, and one of no known chat pauses nothing', async () => {
  const refusal = { do: 'error', status: 400, type: 'invalid_request_error', message: 'no' } as const;
  world.claude.react(({ pendingText }) => (pendingText === 'poison' ? refusal : undefined));
  await startDesk();
  world.telegram.say(CHAT, 'poison');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  await world.telegram.waitForText(ALERT_CHAT, /^🟡 /u);
  const { text, buttons } = await ask('/pause');
  expect(text).toMatch(/^Add the number of a chat/);
  expect(buttons).toEqual({ [`Pause ${CHAT}`]: `/desk pause ${CHAT}` });
  for (const words of ['/pause 4242', '/pause -1001.7', '/pause everything', '/pause 1001x', '/resume 10 01'])
    expect((await ask(words)).text).toMatch(/^(?:Nothing is known about|“.*” is not the|Chat 10 was not paused)/);
  expect(await pausesNow()).toEqual([]);
});
