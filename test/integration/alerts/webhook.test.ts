import { createServer } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { readConfig } from '../../../shared/base/config.ts';
import { createTelegram } from '../../../shared/telegram/client.ts';
import { createChannels } from '../../../worker/alerts/delivery.ts';
import type { Handover } from '../../../worker/alerts/handover.ts';
import { keyOf } from '../../../worker/alerts/handover.ts';
import { webhookTo } from '../../fixture/each-alerter.ts';
import { startAlertReceiver } from '../../stand-in/alert-receiver.ts';
import { closeServer, listen } from '../../stand-in/loopback.ts';

/** What `ALERT_WEBHOOK_URL` is sent, held to strict receivers of each format. */

const FORMATS = ['slack', 'pagerduty', 'alertmanager'] as const;
const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function handover(part: Partial<Handover> = {}): Handover {
  return {
    ...{ incident: 'tool-server:web', key: 'here/tool-server:web/2026', severity: 'page', isOver: false, isNew: true },
    ...{ what: 'The MCP server web is down.', text: '🔴 Page: all of it', words: '🔴 Page: all of it' },
    links: [
      { text: 'Trace', url: 'https://traces.example/1' },
      { text: 'Runbook', url: 'https://runbook.example/#tool-server' },
    ],
    ...{ openedMs: NOW, messages: 3, chats: 2, ...part },
  };
}

async function receiving(format: (typeof FORMATS)[number], part: Parameters<typeof webhookTo>[1] = {}) {
  const receiver = await startAlertReceiver(format);
  ends.push(receiver.stop);
  return { receiver, webhook: webhookTo(receiver, { format, ...part }) };
}

test.each([
  ['slack', {}, 'slack'],
  ['pagerduty', { ALERT_WEBHOOK_FORMAT: 'pagerduty' }, 'pagerduty'],
  ['alertmanager', { ALERT_WEBHOOK_FORMAT: 'alertmanager' }, 'alertmanager'],
] as const)('the settings lead to it: %s', async (_, set, format) => {
  const { receiver } = await receiving(format);
  const key = format === 'slack' ? {} : { ALERT_WEBHOOK_KEY: receiver.key };
  const reading = readConfig({ ALERT_WEBHOOK_URL: receiver.url, INSTALLATION_NAME: 'Home', ...key, ...set }, 'tool');
  if (!reading.ok) throw new Error(reading.problems.join());
  const telegram = createTelegram({ token: '1:a', apiRoot: receiver.url });
  const { webhook } = createChannels({ config: reading.config, telegram });
  expect(await webhook?.tell(handover())).toEqual({ ok: true });
  expect(webhook).toMatchObject({ installation: 'Home', hasKeys: format !== 'slack', takesPages: false });
});

test('pagerduty: a trigger has what a page shows, and the end names its key alone', async () => {
  const { receiver, webhook } = await receiving('pagerduty');
  expect(await webhook.tell(handover())).toEqual({ ok: true });
  expect(await webhook.tell(handover({ isNew: false, isOver: true }))).toEqual({ ok: true });
  const known = { routing_key: receiver.key, dedup_key: 'here/tool-server:web/2026' };
  expect(receiver.taken).toEqual([
    {
      ...{ ...known, event_action: 'trigger', client: 'Spillway' },
      payload: {
        ...{ summary: 'here: The MCP server web is down.', severity: 'critical', source: 'here' },
        ...{ timestamp: '2026-11-22T12:00:00.000Z', component: 'spillway', group: 'here', class: 'tool-server' },
        custom_details: { incident: 'tool-server:web', messages: 3, chats: 2, text: '🔴 Page: all of it' },
      },
      links: [
        { href: 'https://traces.example/1', text: 'Trace' },
        { href: 'https://runbook.example/#tool-server', text: 'Runbook' },
      ],
    },
    { ...known, event_action: 'resolve' },
  ]);
});

test('alertmanager: a group of one alert, whose labels and fingerprint are the same until it is resolved', async () => {
  const { receiver, webhook } = await receiving('alertmanager');
  expect(await webhook.tell(handover({ severity: 'today' }))).toEqual({ ok: true });
  const over = { isNew: false, isOver: true, endedMs: NOW + 60_000, links: [] };
  expect(await webhook.tell(handover({ severity: 'today', ...over }))).toEqual({ ok: true });
  const groupLabels = { alertname: 'tool-server', incident: 'tool-server:web', installation: 'here' };
  const labels = { ...groupLabels, severity: 'warning' };
  const annotations = { summary: 'The MCP server web is down.', description: '🔴 Page: all of it' };
  const runbook = 'https://runbook.example/#tool-server';
  const fingerprint = expect.stringMatching(/^[\da-f]{16}$/);
  expect(receiver.taken[0]).toEqual({
    ...{ version: '4', groupKey: 'here/tool-server:web/2026', truncatedAlerts: 0, status: 'firing' },
    ...{ receiver: 'spillway', groupLabels, commonLabels: labels, externalURL: runbook },
    commonAnnotations: { ...annotations, runbook_url: runbook },
    alerts: [
      {
        ...{ status: 'firing', labels, annotations: { ...annotations, runbook_url: runbook } },
        ...{ startsAt: '2026-11-22T12:00:00.000Z', endsAt: '0001-01-01T00:00:00Z' },
        ...{ generatorURL: 'https://traces.example/1', fingerprint },
      },
    ],
  });
  const [first, last] = receiver.taken.map(({ alerts }) => (alerts as Record<string, unknown>[])[0]);
  expect(last).toMatchObject({ status: 'resolved', endsAt: '2026-11-22T12:01:00.000Z', labels });
  expect(last?.fingerprint).toBe(first?.fingerprint);
});

test('slack: the words, with the links where they open; its plain ok counts, though it is called HTML', async () => {
  const { receiver, webhook } = await receiving('slack');
  expect(await webhook.tell(handover({ links: [{ text: 'Trace', url: 'https://traces.example/1' }] }))).toEqual({
    ok: true,
  });
  expect(await webhook.tell(handover({ isNew: false, words: 'It grew.' }))).toEqual({ ok: true });
  expect(receiver.taken.map(({ text }) => text)).toEqual([
    '🔴 Page: all of it\nTrace: https://traces.example/1',
    'It grew.',
  ]);
});

test('slack: no words of an alert are marks there, neither a command of ours nor a name that calls everybody', async () => {
  const { receiver, webhook } = await receiving('slack');
  const words = 'Taken by <!channel> & Co. "cli message <id>" says more. <https://evil.example|Log in>';
  expect(await webhook.tell(handover({ isNew: false, words }))).toEqual({ ok: true });
  const [{ text = '' } = {}] = receiver.taken as { text?: string }[];
  expect(text).toBe(
    'Taken by &lt;!channel&gt; &amp; Co. "cli message &lt;id&gt;" says more. &lt;https://evil.example|Log in&gt;',
  );
});

test.each(FORMATS)('%s: texts of any length and kind are taken', async (format) => {
  const { webhook } = await receiving(format);
  const long = '漢字🙂\u0000\ud800'.repeat(2_000);
  const told = { what: long, text: long, words: long, key: keyOf(long, 'failed', NOW), incident: `failed:${long}` };
  expect(await webhook.tell(handover(told))).toEqual({ ok: true });
});

test.each(FORMATS)('%s: what is no success is none, and its answer is not quoted', async (format) => {
  const { receiver, webhook } = await receiving(format, { retryMs: 0 });
  const page = '<!DOCTYPE html><title>Log in</title>';
  for (const [mischief, why] of [
    [{ status: 400, body: '{"errors":["the key e93facc0 is wrong"]}' }, 'status 400'],
    [{ status: 500 }, 'status 500'],
    [{ status: 200, body: page, headers: { 'content-type': 'text/html' } }, 'status 200 with a web page'],
    [{ status: 202, body: page }, 'status 202 with a web page'],
    [{ status: 404, body: page }, 'status 404 with a web page'],
  ] as const) {
    receiver.fail(mischief);
    expect(await webhook.tell(handover())).toEqual({ ok: false, isGone: false, why });
  }
  expect(await webhook.tell(handover())).toEqual({ ok: true });
});

test('pagerduty: any other success than 202 is none: nothing was queued there', async () => {
  const { receiver, webhook } = await receiving('pagerduty');
  receiver.fail({ status: 200, body: '{"status":"success"}' });
  expect(await webhook.tell(handover())).toMatchObject({ ok: false, why: 'status 200' });
});

test.each(FORMATS)('%s: a redirect is not followed, with a key or without', async (format) => {
  let requests = 0;
  const elsewhere = createServer((_, response) => {
    requests += 1;
    response.writeHead(202).end();
  });
  const url = await listen(elsewhere);
  ends.push(() => closeServer(elsewhere));
  for (const status of [301, 302, 307, 308]) {
    const { receiver, webhook } = await receiving(format);
    receiver.fail({ status, headers: { location: `${url}/caught` } });
    expect(await webhook.tell(handover())).toMatchObject({ ok: false, why: `status ${status}` });
  }
  expect(requests).toBe(0);
});

test('asked to wait, it tries nothing for so long; a day at once is too much', async () => {
  const { receiver, webhook } = await receiving('pagerduty');
  receiver.fail({ status: 429, headers: { 'retry-after': '1' } });
  const refused = { ok: false, isGone: false, why: 'status 429' } as const;
  expect(await webhook.tell(handover())).toEqual({ ...refused, retryAfterMs: 1_000 });
  expect(await webhook.tell(handover())).toMatchObject({ ...refused, isAway: true });
  expect(receiver.requests).toHaveLength(1);
  const patient = await receiving('pagerduty');
  patient.receiver.fail({ status: 429, headers: { 'retry-after': '86400' } });
  expect(await patient.webhook.tell(handover())).toEqual({ ...refused, retryAfterMs: 900_000 });
});

test('an address that nobody answers at is named by its error alone', async () => {
  const { receiver, webhook } = await receiving('alertmanager');
  await receiver.stop();
  expect(await webhook.tell(handover())).toEqual({ ok: false, isGone: false, why: 'TypeError ECONNREFUSED' });
});

test.each([
  ['a long name', `tool-server:${'x'.repeat(300)}`],
  ['a name of many bytes', `tool-server:${'漢'.repeat(90)}`],
])('a key has at most 255 bytes: %s', (_, incident) => {
  const key = keyOf('here', incident, NOW);
  expect(Buffer.byteLength(key)).toBeLessThanOrEqual(255);
  expect(keyOf('here', incident, NOW)).toBe(key);
  expect(keyOf('here', incident, NOW + 1)).not.toBe(key);
  expect(keyOf('there', incident, NOW)).not.toBe(key);
});
