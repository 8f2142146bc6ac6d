import { expect, test } from '@jest/globals';
import { encodeMessage } from '../../../shared/flow/message.ts';
import { type ChatKey, deskLaneOf, type EntryId } from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { forgetUnlessUnderWay } from '../../../shared/state/message/inbound.ts';
import { runAct } from '../../../worker/operator/act.ts';
import { ACTS } from '../../../worker/operator/acts.ts';
import { everyChat } from '../../../worker/operator/subjects.ts';
import { readMessage } from '../../../worker/report/message.ts';
import { eachInWorld, spawn, start, stopGateways, takeOver, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld({ env: { TELEGRAM_OPERATOR_IDS: String(ALERT_CHAT) } });

const shown = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text, 30_000);

/** A message that matches, with what its button sends now. */
async function button(message: RegExp, label: string): Promise<{ messageId: number; data: string }> {
  const { messageId, replyMarkup } = await shown(message);
  const rows = (replyMarkup as { inline_keyboard?: { text: string; callback_data?: string }[][] }).inline_keyboard;
  const data = rows?.flat().find(({ text }) => text === label)?.callback_data ?? `no ${label}`;
  return { messageId, data };
}

const press = ({ messageId, data }: { messageId: number; data: string }) =>
  world.telegram.press(ALERT_CHAT, messageId, data, ALERT_CHAT);

type Stored = { opening: string; chats?: number; level?: string; waiting?: { chat: string }; acts?: object };
const stored = async (name: string): Promise<Stored> =>
  JSON.parse((await world.peek.hget(world.keys.incidents, `incident:${name}`)) ?? '{}');
const rewrite = (name: string, incident: Stored) =>
  world.peek.hset(world.keys.incidents, `incident:${name}`, JSON.stringify(incident));

test('a button is about the message that it was drawn for, also when another one waits longest since', async () => {
  world.claude.react(() => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' }));
  await start({ UNANSWERED_ALERT_MS: '1000' }, { watchEveryMs: 100, RETRY_MS: 60_000 });
  world.telegram.say(1007, 'hello');
  const cancel = await button(/unanswered for/, 'Cancel message');
  world.telegram.say(1008, 'hello');
  await until('both', async () => (await stored('unanswered')).chats === 2 || undefined);
  world.telegram.say(1007, '/stop');
  await until('another one', async () => (await stored('unanswered')).waiting?.chat === '1008' || undefined);
  press(cancel);
  press(await button(/^Cancel the message of chat 1007\?/, 'Yes, cancel'));
  await shown(/^The message of chat 1007 has ended; there is nothing to cancel\.$/);
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

const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

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
  const [chat, at] = [String(ALERT_CHAT) as ChatKey, { redis: world.peek, shards: 1 }];
  await runAct(at, ACTS.pause, everyChat, { by: 'Ann', why: '' });
  const message = written(ALERT_CHAT, '/desk status');
  const fields = ['chat', deskLaneOf(chat), 'message', message, 'traceparent', TRACEPARENT];
  const entry = (await world.peek.xadd(world.keys.inbound, '*', ...fields)) as EntryId;
  const report = await readMessage(at, { shard: 0, keys: world.keys, entry });
  expect(report).toMatchObject({ chat });
  expect(report?.pause).toBeUndefined();
});
