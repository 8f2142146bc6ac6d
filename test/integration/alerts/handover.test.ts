import { expect, test } from '@jest/globals';
import type { ChatKey } from '../../../shared/redis/keys.ts';
import {
  alerter,
  alertOf,
  allPaid,
  allSent,
  awayGround,
  chat,
  eachWithAlerter,
  entered,
  over,
  refusing,
  started,
  told,
} from '../../fixture/each-alerter.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { until } from '../../fixture/root.ts';
import type { AlertReceiver } from '../../stand-in/alert-receiver.ts';

/** Incidents that another tool was told of while Telegram was away end there, whoever tells of the end, and whatever dies. */

eachWithAlerter();

const KEYED = ['pagerduty', 'alertmanager'] as const;
const incidentOf = (receiver: AlertReceiver) => receiver.incidents()[0];
const handed = async () =>
  Object.keys(await redis.hgetall(keys.alerting)).filter((field) => field.startsWith('handed:'));
const KEY = /^here\/tool-server:1\/\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Stops what was started last; what it wrote stays. */
const stopped = () => started.pop()?.stop();

test.each(KEYED)('%s: opened there while Telegram is away, it ends there after Telegram is back', async (format) => {
  const { receiver, operator, channels, back } = await awayGround(format);
  alerter(channels);
  await told(alertOf(1));
  expect(incidentOf(receiver)).toMatchObject({ key: expect.stringMatching(KEY), isOpen: true, openings: 1 });
  await back();
  await told(over(1));
  await allPaid();
  expect(operator.taken).toEqual([expect.stringMatching(/^Resolved: the server 1 is up again/)]);
  expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: false, openings: 1 })]);
  expect(await handed()).toEqual([]);
});

test.each(KEYED)('%s: it ends there also when nothing was told of it for longer than a week', async (format) => {
  const { receiver, channels, back } = await awayGround(format);
  alerter(channels);
  await told(alertOf(1));
  await back();
  const [field = ''] = await handed();
  await redis.hset(keys.alerting, field, `${Date.now() - 8 * 24 * 3600_000} tool-server:1`);
  await told(alertOf(2));
  await told(over(1));
  await allPaid();
  expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: false, openings: 1 })]);
  expect(await handed()).toEqual([]);
});

test('slack: what was told there ends there, in plain words and once; changes that Telegram takes are not repeated', async () => {
  const { receiver, channels, back } = await awayGround('slack');
  alerter(channels);
  await told(alertOf(1), alertOf(1), alertOf(1));
  await back();
  await redis.xadd(
    keys.notices,
    '*',
    'notice',
    JSON.stringify({ incident: 'tool-server:1', kind: 'grown', text: 'All of it.', update: 'More of it.' }),
  );
  await allSent();
  await told(over(1));
  await allPaid();
  expect(receiver.taken).toEqual([
    { text: expect.stringMatching(/^🟠 Today: .*server 1 is down/s) },
    { text: expect.stringMatching(/^Resolved: the server 1 is up again\. It lasted/) },
  ]);
});

test.each(KEYED)('%s: it is told of changes that Telegram takes, by the key of the opening', async (format) => {
  const { receiver, channels, back } = await awayGround(format);
  alerter(channels);
  await told(alertOf(1));
  await back();
  const change = { incident: 'tool-server:1', kind: 'changed', text: 'Changed now.', update: 'Changed.' };
  await redis.xadd(keys.notices, '*', 'notice', JSON.stringify(change));
  await allSent();
  await allPaid();
  const [incident] = receiver.incidents();
  expect(incident).toMatchObject({ isOpen: true, openings: 1 });
  expect(incident?.bodies).toHaveLength(2);
  expect(JSON.stringify(incident?.bodies[1])).toContain('Changed now.');
});

test.each(['slack', ...KEYED] as const)(
  '%s: killed between the message of the end on Telegram and the tool, it learns of it from the next process',
  async (format) => {
    const { receiver, operator, channels, back } = await awayGround(format);
    alerter(channels);
    await told(alertOf(1));
    await stopped();
    await back();
    const telegram = (to: number) => ({
      ...operator.telegram(to),
      send: async (...args: Parameters<ReturnType<typeof operator.telegram>['send']>) => {
        const sent = await operator.telegram(to).send(...args);
        kill();
        return sent;
      },
    });
    const kill = alerter({ ...channels, telegram });
    await entered(over(1));
    await until('the end on Telegram', () => operator.taken[0]);
    alerter(channels);
    await allSent();
    await allPaid();
    // Twice rather than never.
    expect(operator.taken).toHaveLength(2);
    if (format === 'slack') expect(receiver.taken).toHaveLength(2);
    else expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: false, openings: 1 })]);
  },
);

test.each(KEYED)(
  '%s: killed before it notes that the tool took the opening, it ends there all the same',
  async (format) => {
    const { receiver, operator, webhook, channels, back } = await awayGround(format);
    const dying = {
      ...webhook,
      async tell(...args: Parameters<typeof webhook.tell>) {
        const sent = await webhook.tell(...args);
        kill();
        return sent;
      },
    };
    const kill = alerter({ ...channels, webhook: dying });
    await entered(alertOf(1));
    await receiver.until('the opening', () => incidentOf(receiver));
    await back();
    alerter(channels);
    await allSent();
    expect(operator.taken).toHaveLength(1);
    await told(over(1));
    await allPaid();
    expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: false, openings: 1 })]);
  },
);

test.each(KEYED)('%s: an answer that got lost opens no second incident', async (format) => {
  const { receiver, channels } = await awayGround(format);
  receiver.fail({ status: 502, isTaken: true });
  alerter(channels);
  await told(alertOf(1));
  expect(receiver.requests.length).toBeGreaterThan(1);
  expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: true, openings: 1 })]);
});

test('an end that the tool does not take is kept beside later alerts, and told when it is back', async () => {
  const { receiver, operator, channels, back } = await awayGround('pagerduty');
  const { log, lines } = keptLog();
  alerter(channels, log);
  await told(alertOf(1));
  await back();
  receiver.fail({ status: 503 }, 1_000);
  await told(over(1));
  await told(alertOf(2));
  await until('tries', () => (receiver.requests.filter(({ status }) => status === 503).length > 2 ? true : undefined));
  expect(operator.taken).toHaveLength(2);
  expect(lines.filter(({ msg }) => /second channel was not told/.test(msg)).length).toBeGreaterThan(1);
  receiver.heal();
  await allPaid();
  expect(incidentOf(receiver)).toMatchObject({ isOpen: false });
  expect(JSON.stringify(lines)).not.toContain(receiver.key);
});

test.each(KEYED)('%s: an incident that comes back is another one there, and neither ends the other', async (format) => {
  const { receiver, operator, channels, back } = await awayGround(format);
  alerter(channels);
  await told(alertOf(1));
  await back();
  receiver.fail({ status: 503 }, 1_000);
  await told(over(1));
  await stopped();
  // The chat is away again, and the tool is back.
  operator.failEdits(refusing());
  receiver.heal();
  alerter({ ...channels, telegram: chat(() => refusing()).telegram });
  await told(alertOf(1, { chat: '7' as ChatKey }));
  await allPaid();
  const [first, second] = receiver.incidents();
  expect([first?.isOpen, second?.isOpen]).toEqual([false, true]);
  expect(second?.key).toMatch(KEY);
  expect(second?.key).not.toBe(first?.key);
});

test('opened and over before anybody could be told: the tool has both, and nothing stays open', async () => {
  const { receiver, channels } = await awayGround('pagerduty');
  await entered(alertOf(1));
  await entered(over(1));
  alerter(channels);
  await allSent();
  expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: false, openings: 1 })]);
});

const paging = (part: object = {}) => alertOf(1, { cause: 'blob-store', key: '', text: 'It is full.', ...part });

test('always: a page opens there at once and once, though Telegram takes nothing or takes it; others do not', async () => {
  const { receiver, operator, channels, back } = await awayGround('pagerduty', { takesPages: true });
  alerter({ ...channels, secondAfterMs: 60_000 });
  await entered(paging());
  await receiver.until('the page', () => incidentOf(receiver));
  expect(await redis.xlen(keys.notices)).toBe(1);
  await back();
  await allSent();
  await told(alertOf(2));
  await allPaid();
  expect(operator.taken).toHaveLength(2);
  expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: true, openings: 1 })]);
  expect(receiver.taken).toHaveLength(1);
  await told(paging({ key: 'another' }));
  await allPaid();
  expect(receiver.incidents()).toHaveLength(2);
});
