import type { Config } from '../shared/base/config.ts';
import { createMemoryBook } from '../shared/state/memory/book.ts';
import { notedFiles } from '../shared/state/turn/noted-files.ts';
import { type Books, withAccount, withAccountToHear } from './budget/guarded.ts';
import { chatTools } from './chat-tools.ts';
import { createMediaStore } from './media/store.ts';
import { createTranscriber, type Transcriber } from './media/transcriber.ts';
import { costOfMinute, type Prices } from './model/prices.ts';
import type { WorkerPorts } from './ports.ts';
import type { Endpoint } from './recovery/effects.ts';
import { createSessions } from './session/store.ts';
import { settingsOf } from './settings.ts';
import type { ShardPorts } from './shard.ts';
import type { ChatMemory } from './tools/recall/chat-memory.ts';
import type { ProcessPorts } from './worker.ts';

const TRANSCRIPTION_MS_MAX = 120_000;

/** The ports of asking in the chats of one shard. */
export function askPorts(
  ports: WorkerPorts,
  shared: ProcessPorts,
  shard: ShardPorts,
  { memory, books }: { memory: ChatMemory; books: Books },
) {
  const { config, observability } = ports;
  const { redis, keys, blobs } = shard;
  const settings = settingsOf(ports);
  const { log, reach } = observability;
  const media = createMediaStore({ redis, keys, blobs, retentionDays: config.SESSION_RETENTION_DAYS, log, reach });
  const files = notedFiles(redis, keys);
  const tools = chatTools(ports, shard, { memory, files, media, settings });
  const model = withAccount(ports.model, books, settings.prices);
  const endpoint: Endpoint = {
    model,
    budget: books.budget,
    storm: shared.storm,
    boundModels: shared.boundModels,
    takesFixedParts: (fixed, failure, signal) => shared.fixedParts(model, fixed, failure, signal),
  };
  const store = { sessions: createSessions(redis, keys, shared.windows), media };
  const memoryBook = createMemoryBook(redis, keys);
  return { settings, endpoint, tools, store, files, memoryBook, observability, breaker: shared.breaker };
}

/**
 * The endpoint that hears, if there is one. A call takes less than its turn, so that a slow one is known as the reason.
 */
export function transcriberOf(config: Config, books: Books, prices: Prices): Transcriber | undefined {
  const { TRANSCRIPTION_BASE_URL: baseUrl, TRANSCRIPTION_API_KEY: apiKey, TRANSCRIPTION_MODEL: model } = config;
  if (baseUrl === undefined || model === undefined) return undefined;
  const timeoutMs = Math.min(TRANSCRIPTION_MS_MAX, Math.ceil(config.TURN_TIMEOUT_MS / 2));
  const transcriber = createTranscriber({ baseUrl, apiKey, model, timeoutMs });
  return withAccountToHear(transcriber, books, { model, minute: costOfMinute(model, prices) });
}
