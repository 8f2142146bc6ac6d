import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { createLogger } from '../../shared/base/log.ts';
import { type Observability, traceIdsOnly } from '../../shared/base/telemetry.ts';
import { type EntryId, type Keys, keysOf } from '../../shared/redis/keys.ts';
import { BullLayout } from './bull-layout.ts';
import { JobQueue, type QueuedJob } from './job-queue.ts';
import type { Call } from './oracle.ts';
import type { Process } from './process.ts';
import { ChatHistory, type Written } from './telegram.ts';

/** What the processes of one schedule share. */
export interface Ground {
  redis: Redis;
  keys: Keys;
  jobs: JobQueue;
  layout: BullLayout;
  history: ChatHistory;
  /** What the model was asked, in order. */
  calls: Call[];
  /** The message of each call of the tool, in order. */
  acts: EntryId[];
  /** Every run of a job, in the order of their beginnings. */
  runs: Run[];
  observability: Observability;
}

/** One run of a job in one process. */
export interface Run {
  readonly job: QueuedJob;
  readonly by: Process;
  readonly token: string;
  readonly lockLost: AbortController;
  isOver: boolean;
  /** Whether its lock expired, or its process was killed, before it was over. */
  wasCut: boolean;
}

const LOG = createLogger('silent');
const WITH_IDS = traceIdsOnly();
/** Nothing is written. Only intake gives spans their ids: a message brings its own to a worker. */
export const INTAKE: Observability = { telemetry: WITH_IDS, log: LOG, reach: () => {} };
const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
const OBSERVABILITY: Observability = {
  ...INTAKE,
  telemetry: { ...WITH_IDS, span: (_name, _given, work) => work(NO_SPAN) },
};

/** A shard without data, and people who have written these messages. */
export function groundOf(redis: Redis, shard: number, written: readonly Written[]): Ground {
  const jobs = new JobQueue();
  return {
    redis,
    keys: keysOf(shard),
    jobs,
    layout: new BullLayout(redis, shard, jobs),
    history: new ChatHistory(written),
    calls: [],
    acts: [],
    runs: [],
    observability: OBSERVABILITY,
  };
}
