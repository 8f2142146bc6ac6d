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
    const open = tools.state().flatMap(({ server, unconfined: why }) => (why === undefined ? [] : [{ server, why }]));
    if (open.length > 0)
      log.warn({ servers: open }, 'tool servers are not sandboxed: they can read what this process can');
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

/** A server may change its list at any rate; the alert about omitted tools is sent at most once in this time. */
const OMITTED_EVERY_MS = 3_600_000;

/** The newest alerts about one server, by the steady clock of this process. */
interface Notified {
  downSinceMs?: number | undefined;
  /** `up`, `down`, or the bound that the server broke. */
  health?: string;
  omitted: string;
  omittedMs: number;
}

/**
 * Queues an alert when a tool server has been down for `toolServerDownMs`, when it breaks a bound, when it is up again, and when tools
 * of it are left out. A server that is up is reported once after each start: an earlier process may have ended while the
 * server was down.
 */
export function watchToolServers({
  state,
  queue,
  log,
  limits: { toolServersEveryMs: everyMs, toolServerDownMs: downMs },
}: {
  state(): readonly McpServerState[];
  /** Contract: rejects when the alert could not be queued; it is tried again. */
  queue(alert: Alert): Promise<void>;
  log: Logger;
  limits: Pick<Limits, 'toolServersEveryMs' | 'toolServerDownMs'>;
}): Service {
  const servers = new Map<string, Notified>();
  const look = async (now: McpServerState): Promise<void> => {
    const { server, problem, broken, omitted } = now;
    const known = servers.get(server) ?? { omitted: '[]', omittedMs: Number.NEGATIVE_INFINITY };
    servers.set(server, known);
    const nowMs = performance.now();
    known.downSinceMs = problem === undefined ? undefined : (known.downSinceMs ?? nowMs);
    const health = broken ?? (problem === undefined ? 'up' : 'down');
    const isBrief = health === 'down' && nowMs - (known.downSinceMs ?? nowMs) < downMs;
    if (known.health !== health && !isBrief) {
      await queue(toolServerAlert(server, health === 'up', broken));
      known.health = health;
    }
    const tools = JSON.stringify(omitted);
    if (tools === known.omitted || nowMs - known.omittedMs < OMITTED_EVERY_MS) return;
    if (omitted.length > 0) {
      await queue(omittedToolsAlert(server, omitted));
      log.warn({ server, omitted }, 'tools of a server are left out');
    }
    known.omitted = tools;
    known.omittedMs = nowMs;
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
