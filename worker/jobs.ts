import type { Config } from '../shared/base/config.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../shared/redis/keys.ts';
import { createDeadLetters } from '../shared/state/lane/dead-letters.ts';
import type { Blobs } from './blob/blobs.ts';
import { type Budget, createBudget } from './budget/budget.ts';
import { withBudget, withBudgetToHear } from './budget/guarded.ts';
import { limitsOf } from './budget/limit.ts';
import { createChatArchive } from './command/chat-archive.ts';
import { createChatState } from './command/chat-state.ts';
import { createErasure } from './command/erasure.ts';
import type { Lane } from './lane/lane.ts';
import { openWorker, QUEUE_LIMITS, type TurnQueue } from './lane/queue.ts';
import { createUsageBook } from './lane/usage-book.ts';
import { createMediaStore, type MediaStore } from './media/store.ts';
import { createTranscriber, type Transcriber } from './media/transcriber.ts';
import { costOfMinute, type Prices } from './model/prices.ts';
import { chatRoom } from './model/room.ts';
import type { Endpoint } from './recovery/endpoint.ts';
import { askFixedParts, fixedPartsOf } from './recovery/fixed-parts.ts';
import { createReminderBook } from './reminders/book.ts';
import { createReminders } from './reminders/tool.ts';
import { createDrafts, DRAFTS_EVERY_MS, DRAFTS_REFRESH_MS } from './reply/drafts.ts';
import { createNotedFiles } from './reply/noted-files.ts';
import { createProgressViews, type ProgressViews } from './reply/progress.ts';
import { createStatusLines, STATUS_AFTER_MS, STATUS_EVERY_MS } from './reply/status-line.ts';
import { createSessions } from './session/store.ts';
import { settingsOf } from './settings.ts';
import { joinToolboxes } from './tools/joined.ts';
import { type ChatMemory, createChatMemory } from './tools/recall/chat-index.ts';
import { createRecall } from './tools/recall/recall.ts';
import { createSendFile } from './tools/send-file.ts';
import { createProcessor } from './turn/processor.ts';
import type { TurnPorts } from './turn/turn.ts';
import type { Probed } from './watch/endpoint-probe.ts';
import type { ProcessPorts, WorkerPorts } from './worker.ts';

/** What the jobs of one shard work with. */
export interface ShardPorts {
  redis: RedisClient;
  queueRedis: RedisClient;
  keys: Keys;
  /** Absent where the bytes of files and archives are kept in Redis. */
  blobs: Blobs | undefined;
  lane: Lane;
  queue: TurnQueue;
  discard: (entries: readonly EntryId[]) => Promise<void>;
}

/** How long running turns get when the process is asked to end; then they are handed back intact. */
const DRAIN_MS = 25_000;
const TRANSCRIPTION_MS_MAX = 120_000;

/** Runs the jobs of a shard until it is stopped: running turns get a while, then they are handed back. */
export function startJobs(
  ports: WorkerPorts,
  shared: ProcessPorts,
  shard: ShardPorts,
): Service & Probed & { isRunning(): boolean } {
  const { telemetry, log } = ports.instruments;
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
    async takesFixedParts(signal) {
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

/**
 * The endpoint that hears, if there is one. A call takes less than its turn, so that a slow one is known as the reason.
 */
function transcriberOf(config: Config, budget: Budget | undefined, prices: Prices): Transcriber | undefined {
  const { TRANSCRIPTION_BASE_URL: baseUrl, TRANSCRIPTION_API_KEY: apiKey, TRANSCRIPTION_MODEL: model } = config;
  if (baseUrl === undefined || model === undefined) return undefined;
  const timeoutMs = Math.min(TRANSCRIPTION_MS_MAX, Math.ceil(config.TURN_TIMEOUT_MS / 2));
  const transcriber = createTranscriber({ baseUrl, apiKey, model, timeoutMs });
  const minute = costOfMinute(model, prices);
  return budget && minute !== undefined ? withBudgetToHear(transcriber, budget, minute) : transcriber;
}

/** What the model is asked with in the chats of one shard. */
function askPorts(
  ports: WorkerPorts,
  shared: ProcessPorts,
  shard: ShardPorts,
  { memory, budget }: { memory: ChatMemory; budget: Budget | undefined },
) {
  const { config, instruments } = ports;
  const { redis, keys, blobs } = shard;
  const settings = settingsOf(ports);
  const { log, reach } = instruments;
  const media = createMediaStore({ redis, keys, blobs, retentionDays: config.SESSION_RETENTION_DAYS, log, reach });
  const loadKept = async (chat: ChatKey, sha256: string) => (await media.load(chat, [sha256])).get(sha256);
  const recall = createRecall({ memory, log, loadKept });
  const files = createNotedFiles(redis, keys);
  const sendFile = createSendFile({ files, keep: media.keep, loadKept });
  const reminders = createReminders({ book: createReminderBook(redis, keys), settings });
  const { exclude, excluded } = ports.tools;
  const tools = { ...joinToolboxes([recall, sendFile, reminders, ports.tools]), exclude, excluded };
  const model = budget ? withBudget(ports.model, budget, settings.prices) : ports.model;
  const endpoint: Endpoint = {
    model,
    budget,
    storm: shared.storm,
    boundModels: shared.boundModels,
    takesFixedParts: (failure, maxTokens, signal) =>
      shared.fixedParts(model, { ...fixedPartsOf(settings, tools.specs()), maxTokens }, failure, signal),
  };
  const store = { sessions: createSessions(redis, keys, shared.windows), media };
  return { settings, endpoint, tools, store, files, instruments, breaker: shared.breaker };
}

/** How the chats see that a turn runs. */
function progressViews({ config, telegram, limits }: WorkerPorts): ProgressViews {
  const everyMs = limits?.draftsEveryMs ?? DRAFTS_EVERY_MS;
  return createProgressViews({
    drafts: createDrafts({ telegram, everyMs, refreshMs: DRAFTS_REFRESH_MS }),
    statusLines: createStatusLines({
      telegram,
      afterMs: limits?.statusAfterMs ?? STATUS_AFTER_MS,
      everyMs: limits?.statusEveryMs ?? STATUS_EVERY_MS,
    }),
    streaming: config.TELEGRAM_STREAMING,
  });
}

/** What commands work with in the chats of one shard. */
function commandPorts(
  { telegram }: WorkerPorts,
  { redis, keys, blobs }: ShardPorts,
  memory: ChatMemory,
  media: MediaStore,
): TurnPorts['commands'] {
  return {
    state: createChatState(redis, keys),
    archive: {
      ...createChatArchive({ redis, keys, blobs, keep: media.keep }),
      erase: createErasure({ redis, keys, blobs, media }),
    },
    usageBook: createUsageBook(redis, keys),
    deadLetters: createDeadLetters(redis, keys),
    memory,
    reminders: createReminderBook(redis, keys),
    seesGroups: async () => {
      const me = await telegram.getMe();
      return me.ok ? me.value.can_read_all_group_messages : undefined;
    },
  };
}
