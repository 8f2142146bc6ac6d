import { allowedNow } from '../shared/state/chat/allowed.ts';
import { createDeadLetters } from '../shared/state/lane/dead-letters.ts';
import type { Head } from '../shared/state/lane/lanes.ts';
import { createReminderBook } from '../shared/state/reminder/book.ts';
import { createUsageBook } from '../shared/state/spending/usage-book.ts';
import { createChatArchive } from './command/chat-archive.ts';
import { createChatState } from './command/chat-state.ts';
import { createDesk } from './desk/desk.ts';
import type { MediaStore } from './media/store.ts';
import type { WorkerPorts } from './ports.ts';
import { createDrafts, DRAFTS_EVERY_MS, DRAFTS_FIRST_MS, DRAFTS_REFRESH_MS } from './reply/drafts.ts';
import { createProgressViews, type ProgressViews } from './reply/progress.ts';
import { createStatusLines, STATUS_AFTER_MS, STATUS_EVERY_MS } from './reply/status-line.ts';
import type { ShardPorts } from './shard.ts';
import type { ChatMemory } from './tools/recall/chat-memory.ts';
import type { TurnPorts } from './turn/ports.ts';

/** The views by which chats see that a turn runs. */
export function progressViews({ config, telegram, limits }: WorkerPorts): ProgressViews {
  const everyMs = limits?.draftsEveryMs ?? DRAFTS_EVERY_MS;
  return createProgressViews({
    drafts: createDrafts({
      telegram,
      firstAfterMs: Math.min(DRAFTS_FIRST_MS, everyMs),
      everyMs,
      refreshMs: DRAFTS_REFRESH_MS,
    }),
    statusLines: createStatusLines({
      telegram,
      afterMs: limits?.statusAfterMs ?? STATUS_AFTER_MS,
      everyMs: limits?.statusEveryMs ?? STATUS_EVERY_MS,
    }),
    streaming: config.TELEGRAM_STREAMING,
  });
}

/** The ports of commands in the chats of one shard. */
export function commandPorts(
  { config, telegram }: WorkerPorts,
  { redis, keys, blobs, queue }: ShardPorts,
  memory: ChatMemory,
  media: MediaStore,
): TurnPorts['commands'] {
  // What was tried and put off is a job already, which waits.
  const wake = async (head: Head) => {
    await queue.add([head]);
    await queue.promote([head.entry]);
  };
  return {
    state: { ...createChatState(redis, keys), wake },
    archive: createChatArchive({ redis, keys, blobs, media }),
    usageBook: createUsageBook(redis, keys),
    deadLetters: createDeadLetters(redis, keys),
    memory,
    reminders: createReminderBook(redis, keys),
    installation: {
      desk: createDesk({
        redis,
        shards: config.SHARDS,
        config,
        allowed: allowedNow(redis, config.TELEGRAM_ALLOWED_IDS),
      }),
      seesGroups: async () => {
        const me = await telegram.getMe();
        return me.ok ? me.value.can_read_all_group_messages : undefined;
      },
    },
  };
}
