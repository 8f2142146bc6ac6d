import type { Service } from '../../shared/base/lifecycle.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { queueAlert } from '../../shared/state/incident/book.ts';
import { createPasses } from '../../shared/state/process/process.ts';
import type { Book } from '../alerts/book.ts';
import { fixedPartsTakenAlert } from '../alerts/causes/endpoint.ts';
import { type Model, wordRequest } from '../model/port.ts';
import type { FixedPartsAnswer } from '../recovery/state.ts';
import type { ProcessEnv } from '../shard-env.ts';

/** The calls that a probe makes. */
export interface ProbeCalls {
  /** The model to call. The calls count against the budget of all chats, because an endpoint may bill even a refusal. */
  model: Model;
  /** Asks whether the endpoint accepts the fixed parts. Contract: never rejects. */
  takesFixedParts(signal: AbortSignal): Promise<FixedPartsAnswer['kind']>;
}

const PROBE_EVERY_MS_MAX = 60_000;
/** The interval between probes is this share of the incident's age, within limits: a minute once the age is ten minutes. */
const SHARE_OF_AGE = 0.1;

/**
 * Starts the service that probes the endpoint while an incident `provider` or `fixed-parts` is open, so that the incident
 * can end before somebody sends the next message. For `provider`, a call of a few tokens tests the address, the key, the
 * credit and the model, and `withProviderNotes` records the result. For `fixed-parts`, a request with the fixed parts shows
 * whether the endpoint accepts them; if it does, an alert ends the incident. One process of the installation probes at a
 * time. If that process dies before it queues the alert, the next probe repeats the request.
 */
export function startEndpointProbe(env: ProcessEnv, redis: RedisClient, calls: ProbeCalls, book: () => Book): Service {
  const { log, limits } = env;
  const { alertEveryMs: lookEveryMs, probeEveryMs } = limits;
  const keys = keysOf(0);
  const passes = createPasses(redis, keys);
  /** When this process first saw the open incident, by its monotonic clock. */
  let sinceMs: number | undefined;
  return runLoop({
    name: 'endpoint probe',
    async round(signal) {
      const open = [...book().values()].filter(({ isOpen }) => isOpen);
      const areFixedPartsRefused = open.some(({ cause }) => cause === 'fixed-parts');
      const isOpen = areFixedPartsRefused || open.some(({ cause }) => cause === 'provider');
      // In the next incident, the interval between probes starts at its shortest again.
      if (!isOpen && sinceMs !== undefined) await passes.endEndpointPause();
      sinceMs = isOpen ? (sinceMs ?? performance.now()) : undefined;
      const lastsMs = performance.now() - (sinceMs ?? Number.POSITIVE_INFINITY);
      // Too early for a probe: the failed call that opened the incident is very recent.
      if (lastsMs < probeEveryMs) return lookEveryMs;
      const paceMs = Math.max(probeEveryMs, Math.min(Math.round(lastsMs * SHARE_OF_AGE), PROBE_EVERY_MS_MAX));
      if ((await passes.takeEndpointProbe(paceMs, PROBE_EVERY_MS_MAX)) > 0) return lookEveryMs;
      // `withProviderNotes` around the model records the result.
      if (!areFixedPartsRefused) await calls.model.send(wordRequest(env.settings.MODEL), signal);
      else if ((await calls.takesFixedParts(signal)) === 'taken') await queueAlert(redis, keys, fixedPartsTakenAlert());
      return lookEveryMs;
    },
    retryMs: lookEveryMs,
    onError: (error) => log.debug({ err: error }, 'the endpoint could not be probed; it is tried again'),
  });
}
