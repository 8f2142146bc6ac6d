import { createBudget } from '../shared/state/spending/budget.ts';
import { limitsOf } from '../shared/state/spending/limit.ts';
import { askPorts, transcriberOf } from './ask-ports.ts';
import { commandPorts, progressViews } from './chat-ports.ts';
import { openWorker, QUEUE_LIMITS } from './lane/queue.ts';
import { chatRoom } from './model/count.ts';
import type { WorkerPorts } from './ports.ts';
import { askFixedParts, fixedPartsOf } from './recovery/fixed-parts.ts';
import type { ShardPorts } from './shard.ts';
import { createChatMemory } from './tools/recall/chat-index.ts';
import { createProcessor } from './turn/processor.ts';
import type { ProcessPorts } from './worker.ts';

/** How long running turns get when the process is asked to end; then they are handed back intact. */
const DRAIN_MS = 25_000;

/** Runs the jobs of a shard until it is stopped: running turns get a while, then they are handed back. */
export function startJobs(ports: WorkerPorts, shared: ProcessPorts, shard: ShardPorts) {
  const { telemetry, log } = ports.observability;
  const ending = new AbortController();
  const share = shared.slots.share();
  const { lane, queue, discard } = shard;
  const memory = createChatMemory({ redis: shard.redis, keys: shard.keys, blobs: shard.blobs, log });
  const budget = createBudget(shard.redis, limitsOf(ports.config), lane.nowMs);
  const ask = askPorts(ports, shared, shard, { memory, budget });
  const commands = commandPorts(ports, shard, memory, ask.store.media);
  const progress = progressViews(ports);
  const transcriber = transcriberOf(ports.config, budget, ask.settings.prices);
  const { breaker } = shared;
  const turn = { ask, telegram: ports.telegram, breaker, progress, lane, commands, transcriber };
  const { running } = shared;
  const { model } = ask.endpoint;
  const processor = createProcessor({ turn, queue, share, discard, running, ending: ending.signal });
  const limits = { ...QUEUE_LIMITS, ...ports.limits };
  const worker = openWorker(shard.queueRedis, shard.keys, telemetry, { share, limits }, processor);
  worker.on('error', (error) => log.warn({ err: error }, 'the job worker had trouble'));
  worker.on('failed', (job, error) =>
    log.error({ err: error, entry: job?.data.entry }, 'a job failed; it is run again'),
  );
  void worker.run();
  return {
    name: 'jobs',
    isRunning: () => worker.isRunning(),
    model,
    async takesFixedParts(signal: AbortSignal) {
      const { windowTokens } = await model.limits(ask.settings.modelName);
      const { outputTokens: maxTokens } = chatRoom(windowTokens, undefined, ask.settings);
      const fixed = { ...fixedPartsOf(ask.settings, ask.tools.specs()), maxTokens };
      return (await askFixedParts(model, fixed, signal)).kind;
    },
    async stop() {
      const timer = setTimeout(() => ending.abort(), limits.drainMs ?? DRAIN_MS);
      await worker.close();
      clearTimeout(timer);
    },
  };
}
