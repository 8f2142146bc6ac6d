import type { Root } from '../shared/app/process.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { Observability } from '../shared/base/observability.ts';
import type { BreakerLimits } from '../shared/telegram/breaker.ts';
import type { Pace } from '../shared/telegram/pacing.ts';
import type { BlobLimits } from './blob/keeper.ts';
import type { QueueLimits } from './lane/queue.ts';
import type { Model } from './model/port.ts';
import type { OversightLimits } from './oversight.ts';
import type { SettingFiles, WaitLimits } from './settings.ts';
import type { Toolbox } from './tools/toolbox.ts';
import type { Exclusions } from './tools/toolboxes.ts';

/**
 * The parts of the worker of a process. The files that wire it together, one for each of its sides, take from it what
 * they need; so it belongs to none of them.
 */
export interface WorkerPorts extends Pick<Root, 'config' | 'redisAddress' | 'telegram'> {
  model: Model;
  observability: Observability;
  files: Pick<SettingFiles, 'systemPrompt' | 'preserve' | 'prices' | 'chats'>;
  /** The tools of other servers; they stop with the worker. */
  tools: Toolbox & Service & Exclusions;
  /** Shorter than the defaults in tests of crashes. */
  limits?: Partial<
    QueueLimits & { reconcileEveryMs: number; drainMs: number; archiveEveryMs: number; remindersEveryMs: number } & {
      draftsEveryMs: number;
      progressEveryMs: number;
      statusAfterMs: number;
      statusEveryMs: number;
      summaryIdleMs: number;
      toolServerDownMs: number;
      modelLivesEveryMs: number;
      pace: Pace;
    } & WaitLimits &
      BlobLimits &
      BreakerLimits &
      OversightLimits
  >;
}
