import type { Service } from '../shared/base/lifecycle.ts';
import { rareWarning } from '../shared/base/log.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import type { ChatSettings, ChatTable } from '../shared/state/chat/chat-settings.ts';
import { type Budget, createBudget } from '../shared/state/spending/budget.ts';
import { limitsOf } from '../shared/state/spending/limit.ts';
import { openAccount } from '../shared/state/spending/usage-book.ts';
import { createEnv } from './create-env.ts';
import { FEATURES } from './features.ts';
import { openWorker } from './lane/queue.ts';
import { settingsFor } from './lane/turn-settings.ts';
import { chatRoom } from './model/count.ts';
import { askFixedParts, fixedPartsOf } from './recovery/fixed-parts.ts';
import type { ShardEnv } from './shard-env.ts';
import { forChat } from './tools/toolboxes.ts';
import { resumeParked } from './turn/park.ts';
import { createProcessor } from './turn/processor.ts';
import type { ProbeCalls } from './watch/endpoint-probe.ts';

/** The budget of a shard; `undefined` if no limit is set, because in that case nothing needs to be counted. */
function openBudget({ settings, chats, redis, lane }: ShardEnv): Budget | undefined {
  const isLimited = [{}, ...chats.values()].some((chat) => limitsOf(settings, chat, { isGuest: true }).length > 0);
  return isLimited
    ? createBudget(redis, (payer) => limitsOf(settings, payer?.ownLimits, payer), lane.nowMs)
    : undefined;
}

/** The settings of one chat for each combination of model, system prompt and tools. The default combination comes first. */
function kindsOfChats(chats: ChatTable): Iterable<ChatSettings> {
  const kindOf = ({ model, systemPrompt, tools }: ChatSettings) => JSON.stringify([model, systemPrompt, tools]);
  return new Map([{}, ...chats.values()].map((chat: ChatSettings) => [kindOf(chat), chat])).values();
}

/**
 * Runs the jobs of a shard. On a stop, running turns get `drainMs` to end; then `ending` aborts, and the turns hand themselves
 * back. `queueRedis` is the connection of the job queue.
 */
export function startJobs(
  shard: ShardEnv,
  queueRedis: RedisClient,
  ending: AbortController,
): Service & ProbeCalls & { isRunning(): boolean } {
  const { log, lane, limits, share } = shard;
  const books = { budget: openBudget(shard), book: openAccount(shard.redis, shard.keys, lane.nowMs, log) };
  const env = createEnv(shard, books, FEATURES);
  const { model, settings } = env;
  const worker = openWorker(queueRedis, shard.keys, { share, limits }, createProcessor(env));
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
      for (const chat of kindsOfChats(shard.chats)) {
        const own = settingsFor(settings, chat);
        const { windowTokens } = await model.limits(own.MODEL);
        const { outputTokens: maxTokens } = chatRoom(windowTokens, undefined, own);
        const fixed = { ...fixedPartsOf(own, forChat(env.tools, chat).specs()), maxTokens };
        const { kind } = await askFixedParts(model, fixed, signal);
        if (kind !== 'taken') return kind;
      }
      return 'taken';
    },
    async stop() {
      const timer = setTimeout(() => ending.abort(), limits.drainMs);
      await worker.close();
      clearTimeout(timer);
      ending.abort();
    },
  };
}
