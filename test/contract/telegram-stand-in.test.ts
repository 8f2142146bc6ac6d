import { Agent } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { Telegram } from 'telegraf';
import { startTelegram, type TelegramStandIn } from '../stand-in/telegram/server.ts';

const open: { close(): unknown }[] = [];

async function start(): Promise<{ telegram: TelegramStandIn; client: Telegram }> {
  const telegram = await startTelegram({ privacy: 'off' });
  const agent = new Agent({ keepAlive: true });
  open.push(telegram, { close: () => agent.destroy() });
  return { telegram, client: new Telegram(telegram.token, { apiRoot: telegram.url, agent }) };
}

afterEach(() => Promise.all(open.splice(0).map((each) => each.close())));

interface Polled {
  update_id: number;
  message?: { text?: string; message_id: number };
}

const poll = (client: Telegram, offset: number, timeout = 0, more: object = {}): Promise<Polled[]> =>
  client.callApi('getUpdates', { offset, timeout, ...more }) as Promise<Polled[]>;
const ids = (updates: Polled[]): number[] => updates.map(({ update_id }) => update_id);

async function refusal(promise: Promise<unknown>): Promise<{ code: number; description: string; retryAfter?: number }> {
  try {
    await promise;
  } catch (error) {
    const { response } = error as {
      response: { error_code: number; description: string; parameters?: { retry_after: number } };
    };
    const retryAfter = response.parameters?.retry_after;
    return {
      code: response.error_code,
      description: response.description,
      ...(retryAfter !== undefined && { retryAfter }),
    };
  }
  throw new Error('Expected a refusal, and there was none.');
}

const CHAT = 1001;

test('getMe returns the bot; a wrong token gets 401', async () => {
  const { telegram, client } = await start();
  expect(await client.getMe()).toMatchObject({ id: telegram.botId, is_bot: true });
  const stranger = new Telegram('1:other', { apiRoot: telegram.url });
  expect(await refusal(stranger.getMe())).toEqual({ code: 401, description: 'Unauthorized' });
});

test('accepts parameters by query, JSON or form, and answers 400 to invalid JSON', async () => {
  const { telegram } = await start();
  telegram.openChat(CHAT);
  const root = `${telegram.url}/bot${telegram.token}/sendMessage`;
  const json = { 'content-type': 'application/json' };
  await fetch(`${root}?chat_id=${CHAT}&text=query`);
  await fetch(root, { method: 'POST', headers: json, body: JSON.stringify({ chat_id: CHAT, text: 'json' }) });
  await fetch(root, { method: 'POST', body: new URLSearchParams({ chat_id: `${CHAT}`, text: 'form' }) });
  expect(telegram.shown(CHAT).map(({ text }) => text)).toEqual(['query', 'json', 'form']);
  const broken = await fetch(root, { method: 'POST', headers: json, body: '{' });
  expect([broken.status, await broken.json()]).toMatchObject([400, { ok: false, error_code: 400 }]);
});

test('returns updates again until a greater offset confirms them', async () => {
  const { telegram, client } = await start();
  const [first = 0, second = 0, third = 0] = ['a', 'b', 'c'].map((text) => telegram.say(CHAT, text));
  expect(ids(await poll(client, 0))).toEqual([first, second, third]);
  expect(ids(await poll(client, 0, 0, { limit: 2 }))).toEqual([first, second]);
  expect(telegram.confirmedUpTo()).toBe(0);
  expect(ids(await poll(client, second))).toEqual([second, third]);
  expect([telegram.confirmedUpTo(), telegram.pending()]).toEqual([first, 2]);
  expect(ids(await poll(client, third + 1))).toEqual([]);
  await telegram.waitForConfirmed(third);
});

test('a negative offset forgets the earlier updates', async () => {
  const { telegram, client } = await start();
  const all = ['a', 'b', 'c'].map((text) => telegram.say(CHAT, text));
  expect(ids(await poll(client, -1))).toEqual(all.slice(2));
  expect(telegram.confirmedUpTo()).toBe(all[1]);
});

test('a long poll returns as soon as an update arrives, or empty at its timeout', async () => {
  const { telegram, client } = await start();
  const waiting = poll(client, 0, 50);
  await telegram.waitForCall(({ method }) => method === 'getUpdates');
  const id = telegram.say(CHAT, 'now');
  expect(ids(await waiting)).toEqual([id]);
  expect(await poll(client, id + 1, 1)).toEqual([]);
});

test('a second poll ends the first with a conflict', async () => {
  const { telegram, client } = await start();
  const older = refusal(poll(client, 0, 50));
  await telegram.waitForCall(({ method }) => method === 'getUpdates');
  const newer = poll(client, 0, 50);
  expect(await older).toEqual({
    code: 409,
    description: 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
  });
  const id = telegram.say(CHAT, 'for the newer');
  expect(ids(await newer)).toEqual([id]);
});

test('a poll whose caller disconnected consumes no update', async () => {
  const { telegram, client } = await start();
  const leave = new AbortController();
  const left = fetch(`${telegram.url}/bot${telegram.token}/getUpdates?timeout=50`, { signal: leave.signal }).catch(
    () => 'left',
  );
  await telegram.waitForCall(({ method }) => method === 'getUpdates');
  leave.abort();
  expect(await left).toBe('left');
  await telegram.waitForCall(({ endedAt }) => endedAt !== undefined);
  const id = telegram.say(CHAT, 'still here');
  expect(ids(await poll(client, 0))).toEqual([id]);
});

test('remembers allowed_updates and drops new updates of other kinds', async () => {
  const { telegram, client } = await start();
  telegram.push({ message_reaction: {} });
  const message = telegram.say(CHAT, 'a');
  expect(ids(await poll(client, 0, 0, { allowed_updates: ['callback_query'] }))).toEqual([message]);
  telegram.say(CHAT, 'unwanted');
  const wanted = telegram.push({ callback_query: { id: '1' } });
  expect(ids(await poll(client, message + 1))).toEqual([wanted]);
});

test('a confirmed update can be delivered again, and update ids can restart', async () => {
  const { telegram, client } = await start();
  const first = telegram.say(CHAT, 'a');
  await poll(client, first + 1);
  telegram.redeliver(first);
  expect(ids(await poll(client, first + 1))).toEqual([first]);
  expect(await poll(client, first + 1)).toEqual([]);
  telegram.push({ update_id: 17, message: { text: 'after a quiet week' } });
  expect(telegram.say(CHAT, 'next')).toBe(18);
  expect(ids(await poll(client, first + 1))).toEqual([17, 18]);
  expect([await poll(client, 19), telegram.pending()]).toEqual([[], 0]);
});

test('fail() affects only matching calls, as often as stated, until heal()', async () => {
  const { telegram, client } = await start();
  telegram.openChat(CHAT);
  const tooMany = { status: 429, description: 'Too Many Requests: retry after 3', parameters: { retry_after: 3 } };
  telegram.fail('sendMessage', tooMany, 1, ({ text }) => text === 'b');
  await client.sendMessage(CHAT, 'a');
  expect(await refusal(client.sendMessage(CHAT, 'b'))).toEqual({
    code: 429,
    description: tooMany.description,
    retryAfter: 3,
  });
  await client.sendMessage(CHAT, 'b');
  telegram.fail('*', { do: 'html502' }, 2);
  await expect(client.sendMessage(CHAT, 'c')).rejects.toThrow('502');
  telegram.heal();
  await client.sendMessage(CHAT, 'd');
  expect(telegram.shown(CHAT).map(({ text }) => text)).toEqual(['a', 'b', 'd']);
});

test('a cut call has no effect; a call whose response is lost sends its message', async () => {
  const { telegram, client } = await start();
  telegram.openChat(CHAT);
  telegram.fail('sendMessage', { do: 'cut' });
  telegram.fail('sendMessage', { do: 'loseReply' });
  await expect(client.sendMessage(CHAT, 'cut')).rejects.toThrow(/hang up|reset/);
  await expect(client.sendMessage(CHAT, 'lost')).rejects.toThrow(/hang up|reset/);
  expect(telegram.shown(CHAT).map(({ text }) => text)).toEqual(['lost']);
  const call = await telegram.waitForCall(({ messageId }) => messageId !== undefined);
  expect(call).toMatchObject({ method: 'sendMessage', ok: true, status: 0 });
});

test('a hanging call lasts until its caller aborts, and a slow one is answered late', async () => {
  const { telegram, client } = await start();
  telegram.openChat(CHAT);
  telegram.fail('sendMessage', { do: 'hang' });
  telegram.fail('sendMessage', { do: 'slow', ms: 30 });
  const leave = new AbortController();
  const left = fetch(`${telegram.url}/bot${telegram.token}/sendMessage`, { signal: leave.signal }).catch(() => 'left');
  await telegram.waitForCall(({ method }) => method === 'sendMessage');
  leave.abort();
  expect(await left).toBe('left');
  expect((await client.sendMessage(CHAT, 'late')).text).toBe('late');
});

test('waitForText resolves with the matching message, or times out with a list of the shown ones', async () => {
  const { telegram, client } = await start();
  telegram.openChat(CHAT);
  const soon = telegram.waitForText(CHAT, /done/);
  const { message_id } = await client.sendMessage(CHAT, 'working');
  await client.editMessageText(CHAT, message_id, undefined, 'done');
  expect(await soon).toMatchObject({ messageId: message_id, text: 'done', edits: 1 });
  await expect(telegram.waitForText(CHAT, /never/, 20)).rejects.toThrow(
    `No message in chat ${CHAT} that matches /never/ within 20 ms. Seen: #${message_id} "done"`,
  );
});
