import { allowedNow } from '../shared/state/chat/allowed.ts';
import { createDeadLetters } from '../shared/state/lane/dead-letters.ts';
import { createMemoryBook } from '../shared/state/memory/book.ts';
import { createReminderBook } from '../shared/state/reminder/book.ts';
import { createUsageBook } from '../shared/state/spending/usage-book.ts';
import { notedFiles } from '../shared/state/turn/noted-files.ts';
import { summonsBook } from '../shared/state/turn/summons.ts';
import { type Books, withAccount } from './budget/guarded.ts';
import { chatTools } from './chat-tools.ts';
import { createChatArchive } from './command/chat-archive.ts';
import { createChatState } from './command/chat-state.ts';
import { createDesk } from './desk/desk.ts';
import { transcriberOf } from './endpoint.ts';
import type { Env } from './env.ts';
import { createMediaStore } from './media/store.ts';
import type { WorkerPorts } from './ports.ts';
import { createProgressViews } from './reply/progress.ts';
import { createSessions } from './session/store.ts';
import { settingsOf } from './settings.ts';
import type { ShardPorts } from './shard.ts';
import { createChatMemory } from './tools/recall/chat-memory.ts';
import type { ProcessPorts } from './worker.ts';

/** Builds the env of one shard; what its chats differ in is laid over it by `envFor`. */
export function createEnv(ports: WorkerPorts, shared: ProcessPorts, shard: ShardPorts, books: Books): Env {
  const { config, observability, telegram } = ports;
  const { redis, keys, blobs, lane, queue } = shard;
  const settings = settingsOf(ports);
  const media = createMediaStore({
    redis,
    keys,
    blobs,
    retentionDays: config.SESSION_RETENTION_DAYS,
    ...observability,
  });
  const model = withAccount(ports.model, books, settings.prices);
  const allowed = allowedNow(redis, config.TELEGRAM_ALLOWED_IDS);
  const parts = {
    media,
    settings,
    files: notedFiles(redis, keys),
    memoryBook: createMemoryBook(redis, keys),
    reminders: createReminderBook(redis, keys),
    recall: createChatMemory({ redis, keys, blobs, log: observability.log }),
  };
  return {
    ...observability,
    ...parts,
    telegram,
    lane,
    model,
    breaker: shared.breaker,
    budget: books.budget,
    boundModels: shared.boundModels,
    takesFixedParts: (fixed, failure, signal) => shared.fixedParts(model, fixed, failure, signal),
    tools: chatTools(ports, parts),
    sessions: createSessions(redis, keys, shared.windows),
    progress: createProgressViews(telegram, config.TELEGRAM_STREAMING, ports.limits),
    transcriber: transcriberOf(config, books, settings.prices),
    summonses: summonsBook(redis, keys),
    usageBook: createUsageBook(redis, keys),
    deadLetters: createDeadLetters(redis, keys),
    chatArchive: createChatArchive({ redis, keys, blobs, media }),
    chatState: {
      ...createChatState(redis, keys),
      // A message that was tried and put off has a job already, which waits.
      async wake(head) {
        await queue.add([head]);
        await queue.promote([head.entry]);
      },
    },
    async seesGroups() {
      const me = await telegram.getMe();
      return me.ok ? me.value.can_read_all_group_messages : undefined;
    },
    desk: createDesk({ redis, shards: config.SHARDS, config, allowed }),
  };
}
