import { expect, test } from '@jest/globals';
import { encodeMessage } from '../../../shared/flow/message.ts';
import { type ChatKey, deskLaneOf } from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { forgetUnlessUnderWay } from '../../../shared/state/message/inbound.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { bindProviderNote } from '../../../shared/state/provider/provider.ts';
import { runCli } from '../../fixture/cli.ts';
import { dataByLabel } from '../../fixture/desk.ts';
import { eachInWorld, hold, spawn, start, stopGateways, takeOver, trouble, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

const CHAT = 1007;
const BEN = 1002;
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

eachInWorld({ env: { TELEGRAM_OPERATOR_IDS: `${ALERT_CHAT},${BEN}` } });

const shown = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text, 30_000);

/** A message that matches, with what its button sends now. */
async function button(message: RegExp, label: string): Promise<{ messageId: number; data: string }> {
  const alert = await shown(message);
  return { messageId: alert.messageId, data: dataByLabel(alert)[label] ?? `no ${label}` };
}

const press = ({ messageId, data }: { messageId: number; data: string }, by = ALERT_CHAT) =>
  world.telegram.press(ALERT_CHAT, messageId, data, by);

/** Takes a press in that was made at a time, when the message still had that button. */
function takePress({ messageId, data }: { messageId: number; data: string }, sentAtMs = Date.now()): Promise<unknown> {
  const from = { id: ALERT_CHAT, name: 'Ann', isOperator: true as const };
  const place = { chatId: ALERT_CHAT, chatType: 'private' as const, messageId, pressed: messageId };
  const content = { kind: 'text' as const, text: data };
  const message = { v: 1 as const, updateId: 1, ...place, from, sentAtMs, content };
  return createInbox(world.peek, 1).accept(world.telegram.botId, message, TRACEPARENT);
}

const UNANSWERED = /waited too long for/;

test('a message that is stuck is tried at once, and its chat is paused, by the buttons that name them', async () => {
  trouble(LIES.overloaded);
  await start({ UNANSWERED_ALERT_MS: '1000' }, { watchEveryMs: 100, RETRY_MS: 60_000 });
  world.telegram.say(CHAT, 'hello');
  const again = await button(UNANSWERED, 'Try again now');
  const before = world.claude.calls.length;
  press(again);
  await shown(/^The message of chat 1007 is being tried now\.$/);
  await until('the next call', () => world.claude.calls.length > before || undefined);
  press(await button(UNANSWERED, 'Pause chat 1007'));
  await shown(/^Chat 1007 is paused/);
  expect(await world.peek.hexists(world.keys.paused, String(CHAT))).toBe(1);
});

test('the endpoint is asked at once, what waits is tried when it answers, and presses run in the order they came', async () => {
  const mend = trouble(LIES.overloaded);
  // Another process has had a call that failed, too.
  await bindProviderNote(world.peek, world.keys)('overloaded', '529');
  await start({}, { watchEveryMs: 100, providerDownMs: 500, RETRY_MS: 60_000, probeEveryMs: 60_000 });
  world.telegram.say(CHAT, 'hello');
  world.telegram.say(CHAT + 1, 'hello');
  press(await button(/overloaded/, 'Try again now'));
  await shown(/^The endpoint still is overloaded or failing\.$/);
  mend();
  const answer = hold();
  const before = world.claude.calls.length;
  const triedOnce = /^🔴 Page(?:.|\n)*still is overloaded or failing · by/;
  press(await button(triedOnce, 'Try again now'));
  press(await button(triedOnce, 'Try again now'), BEN);
  await until('the next call', () => world.claude.calls.length > before || undefined);
  const byAnn = expect.stringContaining(`(${ALERT_CHAT})`);
  expect((await readActions(world.peek, 9)).map(({ by }) => by)).toEqual([byAnn, byAnn]);
  answer();
  // The first act may have ended the incident before the second one looks at it.
  const replies = () =>
    world.telegram.shown(ALERT_CHAT).flatMap(({ text }) => /^(?:It answers.*|That alert is over)/.exec(text) ?? []);
  await until('both replies', () => replies().length === 2 || undefined);
  expect(replies()[0]).toBe('It answers; 2 messages now being tried.');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('what was pressed while no worker ran is done when one does, and the reply says when it was pressed', async () => {
  await start();
  await queueAlert(world.peek, world.keys, { cause: 'failed', text: 'A message failed.' });
  await takePress(await button(/Messages failed/, 'Replay failed'), Date.now() - 180_000);
  await shown(/^Nothing to replay\. You pressed at .* UTC; it was done 3 minutes later\.$/);
});

type Stored = { opening: string; chats?: number; level?: string; waiting?: { chat: string }; acts?: object };
const stored = async (name: string): Promise<Stored> =>
  JSON.parse((await world.peek.hget(world.keys.incidents, `incident:${name}`)) ?? '{}');
const rewrite = (name: string, incident: Stored) =>
  world.peek.hset(world.keys.incidents, `incident:${name}`, JSON.stringify(incident));

test('a button is about the message that it was drawn for, also when another one waits longest since; a yes cancels it', async () => {
  trouble(LIES.overloaded);
  await start({ UNANSWERED_ALERT_MS: '1000' }, { watchEveryMs: 100, RETRY_MS: 60_000 });
  world.telegram.say(1007, 'hello');
  const cancel = await button(UNANSWERED, 'Cancel message');
  world.telegram.say(1008, 'hello');
  await until('both', async () => (await stored('unanswered')).chats === 2 || undefined);
  world.telegram.say(1007, '/stop');
  await until('another one', async () => (await stored('unanswered')).waiting?.chat === '1008' || undefined);
  await takePress(cancel);
  press(await button(/^Cancel the message of chat 1007\?/, 'Yes, cancel'));
  await shown(/^The message of chat 1007 has ended; there is nothing to cancel\.$/);
  press(await button(/waited too long for(?:.|\n)*Oldest message: .* of chat 1008/, 'Cancel message'));
  press(await button(/^Cancel the message of chat 1008\? Its user will be notified/, 'Yes, cancel'));
  await shown(/^The message of chat 1008 is cancelled/);
  expect(await nextOutcome(world, 1008)).toMatchObject({ outcome: 'cancelled', reason: 'operator' });
});

test('an act that was cut when its incident came back is not said to be undone', async () => {
  const victim = await spawn({ SPILLWAY_FAIL_AT: 'act done:1' });
  await queueAlert(world.peek, world.keys, { cause: 'fixed-parts', text: 'The endpoint refuses every request.' });
  press(await button(/Every message fails/, 'Pause every chat'));
  press(await button(/^Pause every chat\?/, 'Yes, pause'));
  expect(await victim.ended).toBe('SIGKILL');
  const { acts: _, ...rest } = await stored('fixed-parts');
  await rewrite('fixed-parts', { ...rest, opening: 'next-one-1' });
  await takeOver();
  const { text } = await shown(/^That alert is over/);
  expect(await world.peek.hexists(world.keys.paused, '*')).toBe(1);
  expect(text).not.toMatch(/nothing was done/);
  await stopGateways();
});

test('a chat is not forgotten while what operators do there waits', async () => {
  const chat = String(ALERT_CHAT) as ChatKey;
  await world.peek.rpush(world.keys.lane(deskLaneOf(chat)), '1-1');
  expect(await forgetUnlessUnderWay(world.peek, world.keys, chat, [])).toBe(1);
});

/** What an operator wrote in a chat, as it is stored. */
function written(chatId: number, text: string): string {
  const from = { id: ALERT_CHAT, isOperator: true as const };
  const content = { kind: 'text' as const, text };
  const place = { chatId, chatType: chatId < 0 ? ('group' as const) : ('private' as const), messageId: 5 };
  return encodeMessage({ v: 1, updateId: 77, ...place, from, sentAtMs: Date.now(), content });
}

test('what an operator did and failed is not done again by the /retry of somebody else in that chat', async () => {
  const group = -500;
  world.telegram.openChat(group, 'group');
  const [alertChat, allowed] = [String(group), `1003,${group}`];
  await start({ TELEGRAM_ALERT_CHAT_ID: alertChat, TELEGRAM_ALLOWED_IDS: allowed });
  const fields = { entry: '1-1', record: '{}', chat: `${group}!!`, message: written(group, '/desk pause all') };
  await world.peek.xadd(world.keys.dead, '*', ...Object.entries(fields).flat(), 'traceparent', TRACEPARENT);
  world.telegram.say(group, '/retry', { fromId: 1003 });
  expect(await nextOutcome(world, group)).toMatchObject({ outcome: 'command', reason: 'retry' });
  expect(await world.peek.xlen(world.keys.dead)).toBe(1);
});

test('what operators do is not said to wait in a paused chat', async () => {
  await runCli(['pause'], world.env);
  const message = written(ALERT_CHAT, '/desk status');
  const fields = ['chat', deskLaneOf(String(ALERT_CHAT) as ChatKey), 'message', message, 'traceparent', TRACEPARENT];
  const entry = String(await world.peek.xadd(world.keys.inbound, '*', ...fields));
  const report = JSON.parse((await runCli(['message', entry, '--json'], world.env)).stdout);
  expect(report).toMatchObject({ chat: String(ALERT_CHAT) });
  expect(report.pause).toBeUndefined();
});
