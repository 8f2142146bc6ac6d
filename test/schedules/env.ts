import { createEnv } from '../../worker/create-env.ts';
import type { Env } from '../../worker/env.ts';
import { FEATURES } from '../../worker/features.ts';
import { LIMITS } from '../../worker/limits.ts';
import { createMediaStore } from '../../worker/media/store.ts';
import { NO_PROGRESS } from '../../worker/reply/progress.ts';
import { WindowCache } from '../../worker/session/held-window.ts';
import type { ShardEnv } from '../../worker/shard-env.ts';
import { ALWAYS_THERE } from '../fixture/breaker.ts';
import { settingsOf } from '../fixture/settings.ts';

const SETTINGS = {
  ...settingsOf(
    {
      TELEGRAM_BOT_TOKEN: '1:schedules',
      TELEGRAM_ALLOWED_IDS: '*',
      PERSON_DAILY_USD: '0',
      BLOB_URL: 'redis:',
      SESSION_RETENTION_DAYS: '1',
    },
    'tool',
  ),
  ...{ systemPrompt: 'Answer.', preserve: '', prices: new Map() as never, serverTools: [] },
};

/** What a schedule gives of the env of a shard. */
type Given = Pick<
  ShardEnv,
  | 'redis'
  | 'keys'
  | 'lane'
  | 'queue'
  | 'share'
  | 'ending'
  | 'model'
  | 'telegram'
  | 'tools'
  | 'telemetry'
  | 'log'
  | 'reach'
>;

/** The env of turns, as the product's worker builds it; the calls of the model are not booked. */
export function envOf(given: Given, watch: Env['watch']): Env {
  const shard: Partial<ShardEnv> = {
    ...given,
    settings: SETTINGS,
    limits: { ...LIMITS, progressEveryMs: Number.POSITIVE_INFINITY },
    blobs: undefined,
    media: createMediaStore({ redis: given.redis, keys: given.keys, retentionDays: 1 }),
    breaker: ALWAYS_THERE,
    windows: new WindowCache(),
    boundModels: new Set(),
    running: new Map(),
    fixedParts: async () => ({ kind: 'taken' }),
    discard: async () => {},
  };
  const env = createEnv(shard as ShardEnv, { budget: undefined, book: async () => {} }, FEATURES);
  return {
    ...env,
    model: given.model,
    tools: given.tools,
    progress: NO_PROGRESS,
    watch,
    seesGroups: async () => undefined,
  };
}
