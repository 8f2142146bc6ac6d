import { expect, test } from '@jest/globals';
import type { Alert } from '../../shared/flow/alert.ts';
import { watchToolServers } from '../../worker/alerts/tool-servers.ts';
import type { McpServerState } from '../../worker/tools/mcp/client.ts';
import { keptLog } from '../fixture/log.ts';
import { until } from '../fixture/root.ts';

test('alerts when a server is down for a while and when it returns, and retries a queue that refuses', async () => {
  const servers: McpServerState[] = [{ server: 'web', problem: undefined, tools: 1, omitted: [] }];
  const queued: Alert[] = [];
  let refusals = 0;
  const watch = watchToolServers({
    state: () => servers,
    async queue(alert) {
      if (!alert.isOver && refusals++ === 0) throw new Error('Redis is away');
      queued.push(alert);
    },
    log: keptLog().log,
    everyMs: 5,
    downMs: 50,
  });
  await until('the first look', () => queued[0]);
  servers[0] = { server: 'web', problem: 'it has ended (1)', tools: 1, omitted: [] };
  await until('the alert', () => queued[1]);
  servers[0] = { server: 'web', problem: undefined, tools: 1, omitted: [] };
  await until('its end', () => queued[2]);
  await watch.stop();
  expect(queued).toEqual([
    { cause: 'tool-server', key: 'web', isOver: true, text: expect.stringMatching(/^Resolved: the MCP server "web"/) },
    { cause: 'tool-server', key: 'web', text: expect.stringMatching(/"web" is down \(it has ended \(1\)\)/) },
    { cause: 'tool-server', key: 'web', isOver: true, text: expect.stringMatching(/^Resolved/) },
  ]);
  expect(refusals).toBe(2);
});
