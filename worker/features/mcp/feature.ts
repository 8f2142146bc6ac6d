import type { Service } from '../../../shared/base/lifecycle.ts';
import type { Logger } from '../../../shared/base/log.ts';
import { runLoop } from '../../../shared/base/loop.ts';
import type { Alert } from '../../../shared/flow/alert.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { keysOf } from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { omittedToolsAlert, toolServerAlert } from '../../alerts/causes/tools.ts';
import type { Feature } from '../../feature.ts';
import type { Limits } from '../../limits.ts';
import type { McpServerState } from './toolbox.ts';

/** The tools of the servers that MCP_CONFIG lists. */
export const mcpFeature: Feature = {
  name: 'mcp',
  async outerTools({ settings, redisAddress, log }, { servers }, limits) {
    if (servers.length === 0) return undefined;
    const { startConfinedMcp } = await import('./toolbox.ts');
    const redis = connectRedis(redisAddress, 'patient');
    const tools = await startConfinedMcp(settings, servers, { timeoutMs: settings.TOOL_TIMEOUT_MS }, log);
    const unconfined = tools
      .state()
      .flatMap(({ server, whyUnconfined: why }) => (why === undefined ? [] : [{ server, why }]));
    if (unconfined.length > 0)
      log.warn({ servers: unconfined }, 'tool servers are not sandboxed: they can read what this process can');
    const queue = (alert: Parameters<typeof queueAlert>[2]) => queueAlert(redis, keysOf(0), alert);
    const watch = watchToolServers({ state: tools.state, queue, log, limits });
    return {
      ...tools,
      async stop() {
        await watch.stop();
        await tools.stop();
        redis.disconnect();
      },
    };
  },
};

/** The shortest time between two alerts about omitted tools of one server, which may change its list as often as it likes. */
const OMITTED_EVERY_MS = 3_600_000;

/** The state of one server, and how its newest alerts reported it. Times come from `performance.now()`. */
interface ServerAlerts {
  downSinceMs?: number | undefined;
  /** The reported state: `up`, `down`, or the bound that the server broke. */
  health?: string;
  omittedJson: string;
  omittedMs: number;
}

/**
 * Queues an alert when a tool server has been down for `toolServerDownMs`, breaks a bound, is up again, or has a new list of
 * omitted tools. After each start, also reports a server that is up, once: an earlier process may have reported it as down.
 */
export function watchToolServers({
  state,
  queue,
  log,
  limits: { toolServersEveryMs: everyMs, toolServerDownMs: downMs },
}: {
  state(): readonly McpServerState[];
  /** Contract: rejects when it could not queue the alert; the next round tries again. */
  queue(alert: Alert): Promise<void>;
  log: Logger;
  limits: Pick<Limits, 'toolServersEveryMs' | 'toolServerDownMs'>;
}): Service {
  const servers = new Map<string, ServerAlerts>();
  const notify = async (now: McpServerState): Promise<void> => {
    const { server, problem, brokenBound, omitted } = now;
    const last = servers.get(server) ?? { omittedJson: '[]', omittedMs: Number.NEGATIVE_INFINITY };
    servers.set(server, last);
    const nowMs = performance.now();
    last.downSinceMs = problem === undefined ? undefined : (last.downSinceMs ?? nowMs);
    const health = brokenBound ?? (problem === undefined ? 'up' : 'down');
    const isBrief = health === 'down' && nowMs - (last.downSinceMs ?? nowMs) < downMs;
    if (last.health !== health && !isBrief) {
      await queue(toolServerAlert(server, health === 'up', brokenBound));
      last.health = health;
    }
    const tools = JSON.stringify(omitted);
    if (tools === last.omittedJson || nowMs - last.omittedMs < OMITTED_EVERY_MS) return;
    if (omitted.length > 0) {
      await queue(omittedToolsAlert(server, omitted));
      log.warn({ server, omitted }, 'tools of a server are left out');
    }
    last.omittedJson = tools;
    last.omittedMs = nowMs;
  };
  return runLoop({
    name: 'tool servers',
    async round() {
      for (const each of state()) await notify(each);
      return everyMs;
    },
    retryMs: everyMs,
    onError: (error) =>
      log.warn({ err: error }, 'the operator could not be notified of a tool server; it is tried again'),
  });
}
