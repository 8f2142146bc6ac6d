import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { Alert } from '../../shared/flow/alert.ts';
import type { McpServerState } from '../tools/mcp/client.ts';
import { toolServerAlert } from './messages.ts';

export interface ToolServerPorts {
  state(): readonly McpServerState[];
  /** Contract: rejects when the alert could not be queued; the caller retries. */
  queue(alert: Alert): Promise<void>;
  log: Logger;
  everyMs: number;
  /** A server that is unreachable for this long is down: shorter trouble ends before an operator could look. */
  downMs: number;
}

export const TOOL_SERVERS_EVERY_MS = 2_000;
export const TOOL_SERVER_DOWN_MS = 30_000;

/**
 * Notifies the operator of tool servers that go down, and of their return. A server that is up is reported once after
 * each start: an earlier process may have ended while it was down.
 */
export function watchToolServers({ state, queue, log, everyMs, downMs }: ToolServerPorts): Service {
  const downSinceMs = new Map<string, number>();
  const notified = new Map<string, 'up' | 'down'>();
  const look = async ({ server, problem }: McpServerState): Promise<void> => {
    if (problem === undefined) downSinceMs.delete(server);
    else if (!downSinceMs.has(server)) downSinceMs.set(server, performance.now());
    const isLong = performance.now() - (downSinceMs.get(server) ?? Number.POSITIVE_INFINITY) >= downMs;
    const now = problem === undefined ? 'up' : 'down';
    if (notified.get(server) === now || (now === 'down' && !isLong)) return;
    await queue(toolServerAlert(server, problem));
    notified.set(server, now);
  };
  return runLoop({
    name: 'tool servers',
    async round() {
      for (const each of state()) await look(each);
      return everyMs;
    },
    retryMs: everyMs,
    onError: (error) =>
      log.warn({ err: error }, 'the operator could not be notified of a tool server; it is tried again'),
  });
}
