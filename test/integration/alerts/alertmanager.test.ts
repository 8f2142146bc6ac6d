import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { type AlertReceiver, type PostedAlert, startAlertmanagerStandIn } from '../../stand-in/alert-receiver.ts';

/** What a gateway sends to Alertmanager, which is held to its API. */

let alertmanager: AlertReceiver<PostedAlert[]>;

eachInWorld();
beforeEach(async () => {
  alertmanager = await startAlertmanagerStandIn();
});
afterEach(() => alertmanager.stop());

async function gateway(): Promise<void> {
  const limits = { alertmanagerEveryMs: 50, alertEveryMs: 50, redisTroubleMs: 300 };
  await start(
    { ALERTMANAGER_URL: alertmanager.url, INSTALLATION_NAME: 'Home', RUNBOOK_URL: 'https://r.example' },
    limits,
  );
}

/** The next request in which an incident is as wanted, from a number of requests on. */
function posted(incident: string, isOver: boolean, from = 0): Promise<PostedAlert> {
  return alertmanager.until(`${incident}, ${isOver ? 'ended' : 'open'}`, () =>
    alertmanager.taken
      .slice(from)
      .flat()
      .find((alert) => alert.labels.incident === incident && (alert.endsAt !== undefined) === isOver),
  );
}

const DOWN = { cause: 'tool-server', key: 'web', text: 'The server web is down.' } as const;
const queue = (part: object = {}) => queueAlert(world.peek, world.keys, { ...DOWN, ...part });

test('an open incident is sent again and again with the same labels, and its end as resolved', async () => {
  await gateway();
  await queue();
  const first = await posted('tool-server:web', false);
  expect(first).toEqual({
    labels: { alertname: 'tool-server', incident: 'tool-server:web', installation: 'Home', severity: 'warning' },
    annotations: {
      summary: 'The server web is down.',
      description: expect.stringMatching(
        /^🟡 Needs attention: Tools are missing: an MCP server is down\nHome: 1 time since /,
      ),
      runbook_url: 'https://r.example#tool-server',
    },
    startsAt: expect.any(String),
  });
  expect(await posted('tool-server:web', false, alertmanager.taken.length)).toMatchObject({
    labels: first.labels,
    startsAt: first.startsAt,
  });
  await queue({ isOver: true, text: 'The server web is up again.' });
  const end = await posted('tool-server:web', true);
  expect(end).toMatchObject({ labels: first.labels, startsAt: first.startsAt });
  await posted('tool-server:web', true, alertmanager.taken.length);
});

test('an Alertmanager that fails delays no alert in the chat, and has all that is open once it is back', async () => {
  alertmanager.fail({ status: 503 }, 1_000);
  await gateway();
  await queue();
  await world.telegram.waitForText(ALERT_CHAT, /^The server web is down\./m);
  await alertmanager.until('a refusal', () => alertmanager.statuses.find((status) => status === 503));
  alertmanager.heal();
  await posted('tool-server:web', false);
});

test('while Redis takes no writes, that is sent here and to the chat, without Redis, with what was open before', async () => {
  await gateway();
  await queue();
  await posted('tool-server:web', false);
  await world.peek.config('SET', 'min-replicas-to-write', '1');
  const { labels } = await posted('redis-writes', false);
  expect(labels).toMatchObject({ alertname: 'redis-writes', severity: 'critical' });
  const both = ['redis-writes', 'tool-server:web'];
  await alertmanager.until('both in one request', () =>
    alertmanager.taken.find((alerts) => both.every((each) => alerts.some(({ labels }) => labels.incident === each))),
  );
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /^Redis takes no writes: it has too few replicas/m);
  expect(text).toMatch(/since \d{4}-\d\d-\d\d .* UTC, as process \d+ on /);
  await world.peek.config('SET', 'min-replicas-to-write', '0');
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: Redis takes writes again/);
  expect(await ask('hello')).toMatchObject({ outcome: 'answered' });
});
