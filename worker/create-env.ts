import { createDeadLetters } from '../shared/state/lane/dead-letters.ts';
import { createUsageBook } from '../shared/state/spending/usage-book.ts';
import { notedFiles } from '../shared/state/turn/noted-files.ts';
import { type Books, withAccount } from './budget/guarded.ts';
import { createChatArchive } from './command/chat-archive.ts';
import { createChatState } from './command/chat-state.ts';
import { COMMANDS } from './command/commands.ts';
import type { Env } from './env.ts';
import type { Feature } from './feature.ts';
import { createProgressViews } from './reply/progress.ts';
import { createSessions } from './session/store.ts';
import type { ShardEnv } from './shard-env.ts';
import { createAskUser } from './tools/asking.ts';
import { joinToolboxes } from './tools/toolboxes.ts';
import { pollWhileRunning } from './turn/processor.ts';

/** Builds the services that all turns of a shard share. The settings and tools are not yet those of a single chat. */
export function createEnv(shard: ShardEnv, books: Books, features: readonly Feature[]): Env {
  const { redis, keys, queue, settings, telegram, media, tools } = shard;
  const featureTools = features.flatMap((each) => each.tools?.(shard) ?? []);
  return {
    ...shard,
    features,
    commands: Object.assign({ ...COMMANDS }, ...features.map(({ commands }) => commands)),
    selfEntered: new Map(features.flatMap(({ selfEntered = {} }) => Object.entries(selfEntered))),
    fixedText: features.find(({ fixedText }) => fixedText)?.fixedText,
    model: withAccount(shard.model, books, settings.prices),
    budget: books.budget,
    files: notedFiles(redis, keys),
    // The gateway's own tools come first, so that no MCP server can shadow one.
    tools: { ...tools, ...joinToolboxes([...featureTools, createAskUser(), tools]) },
    sessions: createSessions(redis, keys, shard.windows),
    progress: createProgressViews(telegram, settings.TELEGRAM_STREAMING, shard.limits),
    books,
    elsewhere: features.find(({ elsewhere }) => elsewhere)?.elsewhere,
    usageBook: createUsageBook(redis, keys),
    deadLetters: createDeadLetters(redis, keys),
    chatArchive: createChatArchive(
      shard,
      media,
      features.flatMap(({ changesToErase }) => changesToErase ?? []),
    ),
    chatState: {
      ...createChatState(redis, keys),
      // The head may already have a job that is delayed, so also end the delay.
      async wake(head) {
        await queue.add([head]);
        await queue.promote([head.entry]);
      },
    },
    async seesGroups() {
      const me = await telegram.getMe();
      return me.ok ? me.value.can_read_all_group_messages : undefined;
    },
    watch: pollWhileRunning,
  };
}
