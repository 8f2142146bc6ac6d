import { expect, test } from '@jest/globals';
import type { Alert } from '../../../shared/flow/alert.ts';
import type { ChatKey } from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { deliveryTurn } from '../../../shared/state/incident/delivery.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import type { AlertChannel } from '../../../worker/alerts/channel.ts';
import { webhookChannel } from '../../../worker/alerts/webhook.ts';
import {
  alerter,
  alertOf,
  allSent,
  CHAT,
  chat,
  eachWithAlerter,
  enterAll,
  entered,
  over,
  refusing,
  sent,
  started,
  unsent,
} from '../../fixture/each-alerter.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { until } from '../../fixture/root.ts';
import { startAlertReceiver } from '../../stand-in/alert-receiver.ts';

eachWithAlerter();

async function queue(...alerts: Alert[]): Promise<void> {
  for (const alert of alerts) await queueAlert(redis, keys, alert);
}

const waiting = async () => (await unsent()).length;

test('logs a queued alert before it is sent, and sends it to the operator once', async () => {
  const operator = chat();
  const { log, lines } = keptLog();
  const seenBefore: boolean[] = [];
  const telegram = (to: number): AlertChannel => ({
    ...operator.telegram(to),
    async send(text) {
      seenBefore.push(JSON.stringify(lines).includes('The server 1 is down.') && text !== '');
      return operator.telegram(to).send(text);
    },
  });
  alerter({ telegram }, log);
  await entered(alertOf(1));
  await until('the alert', () => operator.taken[0]);
  await allSent();
  expect(operator.taken).toEqual([expect.stringMatching(/^The server 1 is down\./m)]);
  expect(seenBefore).toEqual([true]);
  expect(await redis.xlen(keys.alerts)).toBe(0);
});

test('two processes that enter the same alerts count each once and send one text', async () => {
  const operator = chat();
  await queue(...[1, 2, 3].map((n) => ({ ...alertOf(n), chat: `${n}` as ChatKey, cause: 'failed' as const, key: '' })));
  const [a, b] = await Promise.all([enterAll(), enterAll()]);
  expect([a, b].filter(Boolean)).toHaveLength(1);
  alerter({ telegram: operator.telegram });
  alerter({ telegram: operator.telegram });
  await allSent();
  expect(operator.taken).toHaveLength(1);
  const { book } = await createBookStore(redis).read();
  expect(book.get('failed')).toMatchObject({ messages: 3, chats: 3 });
});

test('killed between writing the book and removing the alerts: each alert still counts once', async () => {
  await queue(alertOf(1), alertOf(1));
  const killed = async () => Promise.reject(new Error('killed'));
  const dying = Object.create(redis, { xtrim: { value: killed } }) as typeof redis;
  await expect(enterAll(createBookStore(dying))).rejects.toThrow('killed');
  expect(await redis.xlen(keys.alerts)).toBe(2);
  expect(await enterAll()).toBe(false);
  const { book } = await createBookStore(redis).read();
  expect(book.get('tool-server:1')).toMatchObject({ messages: 2 });
});

test.each([
  ['for the retry-after of Telegram', { retryAfterMs: 60_000 }, 20, 60_000],
  ['five minutes at most', {}, 3_600_000, 300_000],
])('waits %s, also when another alert is queued', async (_name, refusal, retryMs, waitMs) => {
  const operator = chat((_, sends) => (sends === 1 ? refusing(refusal) : { ok: true }));
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

test('an incident is one message: it changes in place, and its end is a short reply to it', async () => {
  const operator = chat();
  alerter({ telegram: operator.telegram });
  await sent(alertOf(1), alertOf(2));
  await sent(over(2));
  expect(operator.edits).toEqual([
    [2, expect.stringMatching(/^Resolved: the server 2 .*\n🟡 Needs attention: .*\n.*\nThe server 2 is down\.$/)],
  ]);
  expect(operator.replies).toEqual([[2, 'Resolved: the server 2 is up again.']]);
  expect(operator.taken).toHaveLength(3);
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
  const telegram = (to: number): AlertChannel => ({
    ...operator.telegram(to),
    send: async (text, options) =>
      options?.look && /server 1 is down/.test(text)
        ? refusing({ isLost: true, why: 'rejected: 400' })
        : operator.telegram(to).send(text, options),
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

test('follows a group to its supergroup and remembers the new chat', async () => {
  const operator = chat((to) => (to === CHAT ? refusing({ movedTo: -100_777 }) : { ok: true }));
  alerter({ telegram: operator.telegram });
  await sent(alertOf(1));
  await sent(alertOf(2));
  expect(operator.taken).toHaveLength(2);
  // The second one went to the new chat at once.
  expect(operator.sends()).toBe(3);
});

/** A webhook, with what it was sent. */
async function hook() {
  const receiver = await startAlertReceiver();
  started.push(receiver);
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
  await started.pop()?.stop();
  alerter({ chatId: undefined, webhook: away }, log);
  await entered(alertOf(2));
  await until('a refusal', () => lines.find(({ msg }) => /took no alert/.test(msg)));
  expect(JSON.stringify(lines)).not.toContain('secret-word');
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
    expect.stringMatching(/\nA leap in time\.$/),
    expect.stringMatching(/\nA message failed\.$/),
  ])
    expect(operator.taken).toContainEqual(text);
  expect(await redis.xlen(keys.alerts)).toBe(0);
});

/** An alerter over a state that another version, or another clock, has written. */

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
