import type { Root } from '../shared/app/process.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { GaugeReading } from '../shared/base/meters.ts';
import { METRIC } from '../shared/base/telemetry.ts';
import { connectRedis } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { noteBreaker } from '../shared/state/provider/provider.ts';
import type { Limits } from './limits.ts';
import { type Breaker, withBreaker } from './model/breaker.ts';
import { modelsInUse } from './model/catalog.ts';
import { createClaude } from './model/claude/adapter.ts';
import type { StatedWindow } from './model/claude/endpoint.ts';
import type { Model } from './model/port.ts';
import type { Prices } from './model/prices.ts';
import { serverAttributes, withMeasures } from './model/usage.ts';
import { watchModelLives, withProviderNotes } from './watch/provider.ts';

/**
 * Opens the model endpoint of the process: the Claude client with metrics, with notes on the endpoint's health for the whole
 * installation, and with a circuit breaker. Also watches the end-of-life dates of the models in use. Connects to Redis.
 */
export function openEndpoint(
  { settings, redisAddress, telemetry, log, reach }: Root,
  prices: Prices,
  limits: Limits,
): Service & { model: Model } {
  const redis = connectRedis(redisAddress, 'impatient');
  const server = serverAttributes(settings.ANTHROPIC_BASE_URL);
  const claude = createClaude({
    apiKey: settings.ANTHROPIC_API_KEY,
    baseURL: settings.ANTHROPIC_BASE_URL,
    isTraced: telemetry.isExporting,
    statedWindow: statedWindow(settings),
    idleMs: settings.MODEL_IDLE_TIMEOUT_MS,
    ...(limits.summaryIdleMs !== undefined && { summaryIdleMs: limits.summaryIdleMs }),
    reach,
    onInvalid: ({ rule, path }) => {
      log.error({ rule, path }, 'a request breaks a rule of the API and is not sent');
      telemetry.count(METRIC.invalidRequests, { rule });
    },
  });
  const recordedModel = withProviderNotes(withMeasures(claude, telemetry, prices, server), redis, keysOf(0), log);
  const model = withBreaker(recordedModel, Date.now, Math.random, (name, open) => {
    noteBreaker(redis, keysOf(0), name, open).catch((error: Error) =>
      log.debug({ err: error }, 'the state of the breaker could not be noted'),
    );
  });
  const hideGauges = telemetry.observe([METRIC.breaker], async () => breakerGauges(model));
  const lives = watchModelLives({
    redis,
    keys: keysOf(0),
    ask: claude.lifecycle,
    models: modelsInUse(settings),
    everyMs: limits.modelLivesEveryMs,
    log,
  });
  return {
    name: 'endpoint',
    model,
    async stop() {
      await lives.stop();
      hideGauges();
      redis.disconnect();
    },
  };
}

function breakerGauges({ open }: Breaker): GaugeReading[] {
  return [...open()].map(([model, isOpen]) => ({
    metric: METRIC.breaker,
    value: isOpen ? 1 : 0,
    attributes: { model },
  }));
}

/** CONTEXT_WINDOW_TOKENS applies to MODEL alone, since each other model has its own window. */
function statedWindow({ MODEL, CONTEXT_WINDOW_TOKENS }: Root['settings']): StatedWindow | undefined {
  return CONTEXT_WINDOW_TOKENS === undefined ? undefined : { model: MODEL, tokens: CONTEXT_WINDOW_TOKENS };
}
