import { rareWarning } from '../shared/base/log.ts';
import type { ChatSettings, ChatTable } from '../shared/state/chat/chat-settings.ts';
import { type Budget, createBudget } from '../shared/state/spending/budget.ts';
import { limitsOf } from '../shared/state/spending/limit.ts';
import { openAccount } from '../shared/state/spending/usage-book.ts';
import { openWorker, QUEUE_LIMITS } from './lane/queue.ts';
import { settingsFor } from './lane/settings.ts';
import { chatRoom } from './model/count.ts';
import type { WorkerPorts } from './ports.ts';
import { askFixedParts, fixedPartsOf } from './recovery/fixed-parts.ts';
import type { ShardPorts } from './shard.ts';
import { createEnv } from './shard-env.ts';
import { forChat } from './tools/toolboxes.ts';
import { resumeParked } from './turn/park.ts';
import { createProcessor, watchByClock } from './turn/processor.ts';
import type { ProcessPorts } from './worker.ts';

/** How long running turns get when the process is asked to end; then they are handed back intact. */
const DRAIN_MS = 25_000;
/** Far shorter than any time after which a message is overdue. */
const PROGRESS_EVERY_MS = 15_000;

/** The budget of a shard; `undefined` without any limit: then nothing is counted. */
function openBudget({ config, files }: WorkerPorts, { redis, lane }: ShardPorts): Budget | undefined {
  const isLimited = [{}, ...files.chats.values()].some((chat) => limitsOf(config, chat, { isGuest: true }).length > 0);
  return isLimited ? createBudget(redis, (payer) => limitsOf(config, payer?.own, payer), lane.nowMs) : undefined;
}

/** One of the chats of each kind whose requests begin alike; the first are those without settings of their own. */
function kindsOfChats(chats: ChatTable): Iterable<ChatSettings> {
  const kindOf = ({ model, systemPrompt, tools }: ChatSettings) => JSON.stringify([model, systemPrompt, tools]);
  return new Map([{}, ...chats.values()].map((chat: ChatSettings) => [kindOf(chat), chat])).values();
}

/** Runs the jobs of a shard until it is stopped: running turns get a while, then they are handed back. */
export function startJobs(ports: WorkerPorts, shared: ProcessPorts, shard: ShardPorts) {
  const { log } = ports.observability;
  const ending = new AbortController();
  const share = shared.slots.share();
  const { lane, queue, discard } = shard;
  const books = { budget: openBudget(ports, shard), book: openAccount(shard.redis, shard.keys, lane.nowMs, log) };
  const env = createEnv(ports, shared, shard, books);
  const { model, settings } = env;
  const watch = watchByClock;
  const limits = { ...QUEUE_LIMITS, ...ports.limits };
  const { progressEveryMs = PROGRESS_EVERY_MS } = limits;
  const { running } = shared;
  const jobs = { queue, share, discard, running, ending: ending.signal, watch, progressEveryMs };
  const processor = createProcessor({ ...env, ...jobs });
  const worker = openWorker(shard.queueRedis, shard.keys, { share, limits }, processor);
  const noteTrouble = rareWarning(log, 'the job worker had trouble');
  worker.on('error', (error) => noteTrouble({ err: error }));
  worker.on('failed', (job, error) =>
    log.error({ err: error, entry: job?.data.entry }, 'a job failed; it is run again'),
  );
  worker.on('completed', ({ data }, end) => {
    if (end !== 'parked') return;
    resumeParked(env, data).catch((error) => log.warn({ err: error }, 'what came is left to the reconciler'));
  });
  void worker.run();
  return {
    name: 'jobs',
    isRunning: () => worker.isRunning(),
    model,
    async takesFixedParts(signal: AbortSignal) {
      for (const chat of kindsOfChats(ports.files.chats)) {
        const own = settingsFor(settings, chat);
        const { windowTokens } = await model.limits(own.modelName);
        const { outputTokens: maxTokens } = chatRoom(windowTokens, undefined, own);
        const fixed = { ...fixedPartsOf(own, forChat(env.tools, chat).specs()), maxTokens };
        const { kind } = await askFixedParts(model, fixed, signal);
        if (kind !== 'taken') return kind;
      }
      return 'taken';
    },
    async stop() {
      const timer = setTimeout(() => ending.abort(), limits.drainMs ?? DRAIN_MS);
      await worker.close();
      clearTimeout(timer);
      ending.abort();
    },
  };
}
