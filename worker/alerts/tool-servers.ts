import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { Alert } from '../../shared/flow/alert.ts';
import type { McpServerState } from '../tools/mcp/client.ts';
import { omittedToolsAlert, toolServerAlert } from './causes/tools.ts';

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
/** A server may change its list as often as it likes: the log and the operator hear of it this seldom. */
const OMITTED_EVERY_MS = 3_600_000;

/**
 * Notifies the operator of tool servers that go down, of those that broke a bound at once, of their return, and of their tools that the model is not shown. A
 * server that is up is reported once after each start: an earlier process may have ended while it was down.
 */
export function watchToolServers({ state, queue, log, everyMs, downMs }: ToolServerPorts): Service {
  const downSinceMs = new Map<string, number>();
  /** The bound that was broken, or how the server is. */
  const notified = new Map<string, string>();
  const look = async ({ server, problem, broken }: McpServerState): Promise<void> => {
    if (problem === undefined) downSinceMs.delete(server);
    else if (!downSinceMs.has(server)) downSinceMs.set(server, performance.now());
    const isLong = performance.now() - (downSinceMs.get(server) ?? Number.POSITIVE_INFINITY) >= downMs;
    const now = broken ?? (problem === undefined ? 'up' : 'down');
    if (notified.get(server) === now || (now === 'down' && !isLong)) return;
    await queue(toolServerAlert(server, now === 'up', broken));
    notified.set(server, now);
  };
  const lists = new Map<string, { shown: string; atMs: number }>();
  const lookAtTools = async ({ server, omitted }: McpServerState): Promise<void> => {
    const shown = JSON.stringify(omitted);
    const before = lists.get(server) ?? { shown: '[]', atMs: Number.NEGATIVE_INFINITY };
    if (shown === before.shown || performance.now() - before.atMs < OMITTED_EVERY_MS) return;
    if (omitted.length > 0) {
      await queue(omittedToolsAlert(server, omitted));
      log.warn({ server, omitted }, 'tools of a server are left out');
    }
    lists.set(server, { shown, atMs: performance.now() });
  };
  return runLoop({
    name: 'tool servers',
    async round() {
      for (const each of state()) {
        await look(each);
        await lookAtTools(each);
      }
      return everyMs;
    },
    retryMs: everyMs,
    onError: (error) =>
      log.warn({ err: error }, 'the operator could not be notified of a tool server; it is tried again'),
  });
}
