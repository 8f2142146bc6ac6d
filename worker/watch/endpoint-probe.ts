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

/** What a probe asks. */
export interface Probed {
  /** Within the limits of what all chats may spend: an endpoint may bill even a refusal. */
  model: Model;
  /** Whether the endpoint takes what every request holds. Contract: never rejects. */
  takesFixedParts(signal: AbortSignal): Promise<FixedPartsAnswer['kind']>;
}

const PROBE_EVERY_MS_MAX = 60_000;
/** What lasts is asked for more rarely: after ten minutes once a minute. */
const SHARE_OF_AGE = 0.1;

/**
 * While an incident says that the endpoint fails or refuses every request, asks it now and then whether it still does, so
 * that the incident ends with its reason and not with somebody's next message. A call of a few tokens shows that
 * address, key, credit and model work: `withProviderNotes` records it, whatever it brings. That the fixed parts are taken
 * only a request with them shows, so they are sent where they were refused. One process of the installation asks at a
 * time. Killed between the answer and the alert: the next probe finds the same.
 */
export function startEndpointProbe(env: ProcessEnv, redis: RedisClient, probed: Probed, book: () => Book): Service {
  const { log, limits } = env;
  const { alertEveryMs: lookEveryMs, probeEveryMs } = limits;
  const keys = keysOf(0);
  const passes = createPasses(redis, keys);
  /** Since when this process sees such an incident, by its own clock. */
  let sinceMs: number | undefined;
  return runLoop({
    name: 'endpoint probe',
    async round(signal) {
      const open = [...book().values()].filter(({ isOpen }) => isOpen);
      const isRefused = open.some(({ cause }) => cause === 'fixed-parts');
      const isOpen = isRefused || open.some(({ cause }) => cause === 'provider');
      // The next incident is not to wait for the pace that this one had come to.
      if (!isOpen && sinceMs !== undefined) await passes.endEndpointPause();
      sinceMs = isOpen ? (sinceMs ?? performance.now()) : undefined;
      const lastsMs = performance.now() - (sinceMs ?? Number.POSITIVE_INFINITY);
      // What opened it has just been asked.
      if (lastsMs < probeEveryMs) return lookEveryMs;
      const paceMs = Math.max(probeEveryMs, Math.min(Math.round(lastsMs * SHARE_OF_AGE), PROBE_EVERY_MS_MAX));
      if ((await passes.takeEndpointProbe(paceMs, PROBE_EVERY_MS_MAX)) > 0) return lookEveryMs;
      // What it brings is recorded by the model itself.
      if (!isRefused) await probed.model.send(wordRequest(env.settings.MODEL), signal);
      else if ((await probed.takesFixedParts(signal)) === 'taken')
        await queueAlert(redis, keys, fixedPartsTakenAlert());
      return lookEveryMs;
    },
    retryMs: lookEveryMs,
    onError: (error) => log.debug({ err: error }, 'the endpoint could not be probed; it is tried again'),
  });
}
