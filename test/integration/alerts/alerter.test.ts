import { expect, test } from '@jest/globals';
import type { Logger } from '../../../shared/base/log.ts';
import type { Alert } from '../../../shared/flow/alert.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import type { ChatKey } from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { deliveryTurn } from '../../../shared/state/incident/delivery.ts';
import { startAlerter } from '../../../worker/alerts/alerter.ts';
import { enter } from '../../../worker/alerts/book.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import type { AlertChannel, Channels, SendResult } from '../../../worker/alerts/channel.ts';
import { isUpToDate } from '../../../worker/alerts/next-sending.ts';
import { webhookChannel } from '../../../worker/alerts/webhook.ts';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { eachWithRedis, keys, redis, server } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { processEnv } from '../../fixture/process-env.ts';
import { until } from '../../fixture/root.ts';
import { startAlertReceiver } from '../../stand-in/alert-receiver.ts';

const CHAT = 9001;

eachWithRedis();

/** Enters what is queued into the book, as each watchdog does. */
async function enterAll(store = createBookStore(redis)): Promise<boolean> {
  const stored = await store.read();
  const queued = await store.alertsOf(0, stored.cursors.get(0));
  if (queued === undefined) return false;
  const { book } = enter(stored.book, { alerts: queued.alerts, nowMs: Date.now() });
  return store.record(stored, book, [queued]);
}

/** Queues alerts and enters them into the book. */
async function entered(...alerts: Alert[]): Promise<void> {
  for (const alert of alerts) await queueAlert(redis, keys, alert);
  await enterAll();
}

/** The names of the incidents of which a channel has not the newest stage. */
async function unsent(): Promise<string[]> {
  const stored = await createBookStore(redis).read();
  return [...stored.book].filter(([, incident]) => !isUpToDate(incident, stored)).map(([name]) => name);
}

/** Waits until every channel has the newest stage of each incident. */
async function allSent(): Promise<void> {
  await until('all of it sent', async () => ((await unsent()).length === 0 ? true : undefined));
}

async function sent(...alerts: Alert[]): Promise<void> {
  await entered(...alerts);
  await allSent();
}

/** A server of tools that is down. */
function alertOf(n: number): Alert {
  return { cause: 'tool-server', key: `${n}`, text: `The server ${n} is down.` };
}

/** It is up again. */
const over = (n: number): Alert => ({ ...alertOf(n), isOver: true, text: `Resolved: the server ${n} is up again.` });

/** What a channel says that took nothing. */
const refusing = (part: Partial<Extract<SendResult, { ok: false }>> = {}): SendResult => ({
  ...{ ok: false, why: 'unknown: 502', ...part },
});

/** An operator's chat of which a test says what it answers. */
function chat(answer: (sends: number) => SendResult = () => ({ ok: true })) {
  const taken: string[] = [];
  const replies: [replyTo: number, text: string][] = [];
  const edits: [messageId: number, text: string][] = [];
  let sends = 0;
  let editing: SendResult = { ok: true };
  const telegram = (): AlertChannel => ({
    async send(text, { replyTo } = {}) {
      sends += 1;
      const sent = answer(sends);
      if (!sent.ok) return sent;
      taken.push(text);
      if (replyTo !== undefined) replies.push([replyTo, text]);
      return { ok: true, messageId: taken.length };
    },
    async edit(messageId, text) {
      edits.push([messageId, text]);
      return editing;
    },
  });
  const failEdits = (failure: SendResult): void => {
    editing = failure;
  };
  return { taken, replies, edits, telegram, failEdits, sends: () => sends };
}

function alerter(channels: Partial<Channels>, log: Logger = keptLog().log): void {
  const limits = { alertSettleMs: 0, alertEveryMs: 10, alertTakeOverMs: 1_000 };
  const all = { chatId: CHAT, telegram: chat().telegram, webhook: undefined, retryMs: 20, ...channels };
  const started = startAlerter(processEnv(server.url, { limits, log }), connectRedis(server.url, 'impatient'), all);
  cleanUps.push(() => started.stop());
}

const waiting = async () => (await unsent()).length;

test('alerts that two processes enter, after one that was killed in between, count once each and are one text', async () => {
  const operator = chat();
  for (const n of [1, 2, 3])
    await queueAlert(redis, keys, { ...alertOf(n), chat: `${n}` as ChatKey, cause: 'failed', key: '' });
  // Between writing the book and removing the alerts.
  const killed = async () => Promise.reject(new Error('killed'));
  const dying = Object.create(redis, { xtrim: { value: killed } }) as typeof redis;
  await expect(enterAll(createBookStore(dying))).rejects.toThrow('killed');
  expect(await redis.xlen(keys.alerts)).toBe(3);
  await queueAlert(redis, keys, { ...alertOf(4), chat: '4' as ChatKey, cause: 'failed', key: '' });
  const both = await Promise.all([enterAll(), enterAll()]);
  expect(both.filter(Boolean)).toHaveLength(1);
  alerter({ telegram: operator.telegram });
  alerter({ telegram: operator.telegram });
  await allSent();
  expect(operator.taken).toHaveLength(1);
  const { book } = await createBookStore(redis).read();
  expect(book.get('failed')).toMatchObject({ messages: 4, chats: 4 });
});

test.each([
  ['for the retry-after of Telegram', { retryAfterMs: 60_000 }, 20, 60_000],
  ['five minutes at most', {}, 3_600_000, 300_000],
])('waits %s, also when another alert is queued', async (_name, refusal, retryMs, waitMs) => {
  const operator = chat((sends) => (sends === 1 ? refusing(refusal) : { ok: true }));
  alerter({ telegram: operator.telegram, retryMs });
  await entered(alertOf(1));
  const retryAtMs = await until(
    'a refusal',
    async () => Number(await redis.hget(keys.alerting, 'retryAtMs')) || undefined,
  );
  expect(Math.abs(retryAtMs - Date.now() - waitMs)).toBeLessThan(30_000);
  await entered(alertOf(2));
  await until('the second notice', async () => ((await waiting()) === 2 ? true : undefined));
  expect(operator.sends()).toBe(1);
});

test('a message that cannot be changed any more is replaced by a new one, without a reply', async () => {
  const operator = chat();
  alerter({ telegram: operator.telegram });
  await sent(alertOf(1));
  operator.failEdits(refusing({ isLost: true, why: 'message_gone: message to edit not found' }));
  await sent(over(1));
  expect(operator.replies).toEqual([]);
  expect(operator.taken).toEqual([
    expect.stringMatching(/^The server 1 is down/m),
    expect.stringMatching(/^Resolved: the server 1 .*\n🟡 Needs attention: .*\n.*\nThe server 1 is down\.$/),
  ]);
});

test('a message that a channel refuses for good holds up no other one', async () => {
  const operator = chat();
  const channel = operator.telegram();
  const telegram = (): AlertChannel => ({
    ...channel,
    send: async (text, options) =>
      options?.look && /server 1 is down/.test(text)
        ? refusing({ isLost: true, why: 'rejected: 400' })
        : channel.send(text, options),
  });
  const taken: string[] = [];
  const webhook = {
    async send(text: string) {
      if (/server 1 is down/.test(text)) return refusing({ why: 'status 400' });
      taken.push(text);
      return { ok: true as const };
    },
  };
  alerter({ telegram, webhook });
  await entered(alertOf(1), alertOf(2));
  await until('both in the chat', () => operator.taken[1]);
  await until('the other in the webhook', () => taken[0]);
  expect(operator.taken).toContainEqual(expect.stringMatching(/^🟡 Needs attention: .*server 1 is down/));
});

/** A webhook, with what it was sent. */
async function hook() {
  const receiver = await startAlertReceiver();
  cleanUps.push(receiver.stop);
  const texts = () => receiver.taken.map(({ text }) => text);
  return { texts, until: receiver.until, channel: webhookChannel(receiver.url, 20) };
}

test('the webhook gets what the chat does not take, once, and the chat gets it when it takes something again', async () => {
  let isAway = false;
  const operator = chat(() => (isAway ? refusing() : { ok: true }));
  const second = await hook();
  alerter({ telegram: operator.telegram, webhook: second.channel });
  await sent(alertOf(1));
  isAway = true;
  operator.failEdits(refusing());
  await entered(over(1));
  await entered(alertOf(2));
  await second.until('all of them', () => second.texts()[2]);
  await until('many tries', () => (operator.edits.length > 3 ? true : undefined));
  expect(second.texts()).toEqual([
    expect.stringMatching(/The server 1 is down/),
    expect.stringMatching(/^Resolved: the server 1/),
    expect.stringMatching(/The server 2 is down/),
  ]);
  expect([operator.taken.length, await waiting()]).toEqual([1, 2]);
  isAway = false;
  operator.failEdits({ ok: true });
  await allSent();
  expect(operator.edits.at(-1)).toEqual([
    1,
    expect.stringMatching(/^Resolved: the server 1 .*The server 1 is down\.$/s),
  ]);
  expect(operator.replies).toEqual([[1, expect.stringMatching(/^Resolved: the server 1/)]]);
  expect([operator.taken.length, second.texts().length]).toEqual([3, 3]);
});

test('without a chat the second channel gets the alerts, and its URL is never logged', async () => {
  const second = await hook();
  const { log, lines } = keptLog();
  alerter({ chatId: undefined, webhook: second.channel }, log);
  await sent(alertOf(1));
  expect(second.texts()).toHaveLength(1);
  const away = webhookChannel('http://127.0.0.1:1/secret-word', 20);
  await cleanUps.pop()?.();
  alerter({ chatId: undefined, webhook: away }, log);
  await entered(alertOf(2));
  await until('a refusal', () => lines.find(({ msg }) => /took no alert/.test(msg)));
  expect(JSON.stringify(lines)).not.toContain('secret-word');
  // Also what nobody has taken.
  const logged = lines.filter(({ msg }) => msg === 'alert').map((line) => JSON.stringify(line));
  expect(logged).toEqual([1, 2].map((n) => expect.stringContaining(`The server ${n} is down.`)));
  expect(await waiting()).toBe(1);
});

test('with neither a chat nor a second channel an alert is logged, and waits for nobody', async () => {
  const { log, lines } = keptLog();
  alerter({ chatId: undefined }, log);
  await sent(alertOf(1));
  expect(lines.filter(({ msg }) => msg === 'alert')).toHaveLength(1);
});

test('takes over the sending from a killed process when its lock expires, and not before', async () => {
  await entered(alertOf(1));
  await redis.set(keys.alertingLock, 'a process that was killed', 'PX', 400);
  const operator = chat();
  const fromMs = performance.now();
  alerter({ telegram: operator.telegram });
  await allSent();
  expect(operator.taken).toHaveLength(1);
  expect(performance.now() - fromMs).toBeGreaterThan(300);
});

test('sends an alert of another version unchanged, and shows one that is not JSON as it is', async () => {
  const operator = chat();
  alerter({ telegram: operator.telegram });
  await redis.xadd(keys.alerts, '*', 'alert', JSON.stringify({ incident: 'failed-1-0', text: 'A message failed.' }));
  await redis.xadd(keys.alerts, '*', 'alert', JSON.stringify({ cause: 'toString', key: 7, text: 'A leap in time.' }));
  await redis.xadd(keys.alerts, '*', 'alert', 'no JSON');
  await enterAll();
  await allSent();
  const unreadable = expect.stringMatching(/^An alert is not readable \(\d+-\d+\): no JSON$/m);
  for (const text of [
    unreadable,
    expect.stringMatching(/\nA leap in time\.\n/),
    expect.stringMatching(/\nA message failed\.\n/),
  ])
    expect(operator.taken).toContainEqual(text);
  expect(await redis.xlen(keys.alerts)).toBe(0);
});

test('what the channels have and cannot be read is sent again, and an incident of version 0.3 keeps its occurrences', async () => {
  const operator = chat();
  await entered(alertOf(1));
  const {
    occurrences: _,
    occurrencesMore: __,
    ...incident
  } = JSON.parse((await redis.hget(keys.incidents, 'incident:tool-server:1')) ?? '');
  const before = { ...incident, unnamed: ['Second.'], unnamedMore: 0, named: ['First.'] };
  await redis.hset(keys.incidents, 'incident:tool-server:1', JSON.stringify(before));
  await redis.hset(keys.incidents, 'delivered:tool-server:1', '{"opening":');
  alerter(operator);
  await allSent();
  expect(operator.taken).toEqual([expect.stringMatching(/First\.\nSecond\.$/)]);
  expect((await createBookStore(redis).read()).delivered.get('tool-server:1')).toMatchObject({ stage: 1, copied: 1 });
});

test('a process whose turn was taken over records nothing: the next one knows better', async () => {
  await entered(alertOf(1));
  const turn = deliveryTurn(redis);
  await turn.begin('frozen', 5);
  await until('the next turn', () => turn.begin('next', 60_000));
  await turn.end('frozen', [['tool-server:1', '{}']], { sentMs: [] });
  expect(await redis.hexists(keys.incidents, 'delivered:tool-server:1')).toBe(0);
  await turn.end('next', [['tool-server:1', '{}']], { sentMs: [] });
  expect(await redis.hexists(keys.incidents, 'delivered:tool-server:1')).toBe(1);
});
