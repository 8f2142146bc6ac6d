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
import { COMMANDS } from './command/commands.ts';
import { desk } from './desk/desk.ts';
import { transcriberOf } from './endpoint.ts';
import type { Env } from './env.ts';
import { createMediaStore } from './media/store.ts';
import { createProgressViews } from './reply/progress.ts';
import { createSessions } from './session/store.ts';
import type { ShardEnv } from './shard-env.ts';
import { createChatMemory } from './tools/recall/chat-memory.ts';
import { watchByClock } from './turn/processor.ts';

/** Builds what turns use, from what their shard offers; what its chats differ in is laid over it by `envFor`. */
export function createEnv(shard: ShardEnv, books: Books): Env {
  const { config, redis, keys, queue, settings, telegram } = shard;
  const media = createMediaStore({ ...shard, retentionDays: config.SESSION_RETENTION_DAYS });
  const parts = {
    media,
    files: notedFiles(redis, keys),
    memoryBook: createMemoryBook(redis, keys),
    reminders: createReminderBook(redis, keys),
    recall: createChatMemory(shard),
  };
  return {
    ...shard,
    ...parts,
    model: withAccount(shard.model, books, settings.prices),
    budget: books.budget,
    tools: chatTools({ ...shard, ...parts }),
    sessions: createSessions(redis, keys, shard.windows),
    progress: createProgressViews(telegram, config.TELEGRAM_STREAMING, shard.limits),
    transcriber: transcriberOf(config, books, settings.prices),
    summonses: summonsBook(redis, keys),
    commands: { ...COMMANDS, desk },
    usageBook: createUsageBook(redis, keys),
    deadLetters: createDeadLetters(redis, keys),
    chatArchive: createChatArchive({ ...shard, media }),
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
    watch: watchByClock,
  };
}
