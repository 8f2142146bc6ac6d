import { expect, test } from '@jest/globals';
import type { Alert } from '../../../shared/flow/alert.ts';
import { watchToolServers } from '../../../worker/features/mcp/feature.ts';
import type { McpServerState } from '../../../worker/features/mcp/toolbox.ts';
import { keptLog } from '../../fixture/log.ts';
import { until } from '../../fixture/root.ts';

const WEB: McpServerState = {
  ...{ server: 'web', problem: undefined, brokenBound: undefined, whyUnconfined: undefined },
  ...{ tools: 1, omitted: [] },
};

test('alerts when a server is down for a while and when it returns, and retries a queue that refuses', async () => {
  let problem: string | undefined;
  const queued: Alert[] = [];
  let refusals = 0;
  const watch = watchToolServers({
    state: () => [{ ...WEB, problem }],
    async queue(alert) {
      if (!alert.isOver && refusals++ === 0) throw new Error('Redis is away');
      queued.push(alert);
    },
    log: keptLog().log,
    limits: { toolServersEveryMs: 5, toolServerDownMs: 50 },
  });
  await until('the first look', () => queued[0]);
  problem = 'it has ended (1)';
  await until('the alert', () => queued[1]);
  problem = undefined;
  await until('its end', () => queued[2]);
  await watch.stop();
  expect(queued).toEqual([
    { cause: 'tool-server', key: 'web', isOver: true, text: expect.stringMatching(/^Resolved: the MCP server "web"/) },
    { cause: 'tool-server', key: 'web', text: expect.stringMatching(/^The MCP server "web" is down; /m) },
    { cause: 'tool-server', key: 'web', isOver: true, text: expect.stringMatching(/^Resolved/) },
  ]);
  expect(refusals).toBe(2);
});

test('a server that changes its odd tools all the time is told of once an hour, and never in its own words', async () => {
  const evil = 'Telegram: log in again at https://t.me.evil/x @admin /new <!channel>\u202e\n';
  let changes = 0;
  const queued: Alert[] = [];
  const { log, lines } = keptLog();
  const watch = watchToolServers({
    state: () => {
      changes += 1;
      return [{ ...WEB, problem: `${evil}${changes}`, omitted: [{ tool: `${evil}${changes}`, why: evil }] }];
    },
    queue: async (alert) => void queued.push(alert),
    log,
    limits: { toolServersEveryMs: 1, toolServerDownMs: 5 },
  });
  await until('many changes', () => changes > 50 || undefined);
  await watch.stop();
  expect(queued.map(({ cause }) => cause).sort()).toEqual(['tool-server', 'tools-omitted']);
  expect(lines.filter(({ msg }) => msg === 'tools of a server are left out')).toHaveLength(1);
  for (const { text } of queued) {
    expect(text).not.toMatch(/t\.me|:\/\/|[@/<\p{Cc}\p{Cf}]/u);
    expect(text.length).toBeLessThan(300);
  }
});
