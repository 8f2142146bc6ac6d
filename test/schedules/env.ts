import type { Redis } from 'ioredis';
import { readConfig } from '../../shared/base/config.ts';
import type { Observability } from '../../shared/base/observability.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { createDeadLetters } from '../../shared/state/lane/dead-letters.ts';
import { createMemoryBook } from '../../shared/state/memory/book.ts';
import { createReminderBook } from '../../shared/state/reminder/book.ts';
import { createUsageBook } from '../../shared/state/spending/usage-book.ts';
import { notedFiles } from '../../shared/state/turn/noted-files.ts';
import { summonsBook } from '../../shared/state/turn/summons.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import { createChatArchive } from '../../worker/command/chat-archive.ts';
import { createChatState } from '../../worker/command/chat-state.ts';
import type { Env } from '../../worker/env.ts';
import type { Lane } from '../../worker/lane/lane.ts';
import type { TurnQueue } from '../../worker/lane/queue.ts';
import type { Settings } from '../../worker/lane/settings.ts';
import { conclude } from '../../worker/lane/verdict.ts';
import { createMediaStore } from '../../worker/media/store.ts';
import type { Model } from '../../worker/model/port.ts';
import { createProgressViews } from '../../worker/reply/progress.ts';
import { createSessions } from '../../worker/session/store.ts';
import { settingsOf } from '../../worker/settings.ts';
import { createChatMemory } from '../../worker/tools/recall/chat-memory.ts';
import type { Toolbox } from '../../worker/tools/toolbox.ts';
import { withExclusions } from '../../worker/tools/toolboxes.ts';
import { ALWAYS_THERE } from '../fixture/breaker.ts';

const RETENTION_DAYS = 1;

const SETTINGS: Settings = settingsOf({
  config: configOf(),
  files: { systemPrompt: 'Answer.', preserve: '', prices: new Map() as never },
});

function configOf() {
  const reading = readConfig(
    {
      TELEGRAM_BOT_TOKEN: '1:schedules',
      TELEGRAM_ALLOWED_IDS: '*',
      PERSON_DAILY_USD: '0',
      TELEGRAM_ALERT_CHAT_ID: '1',
      ANTHROPIC_API_KEY: 'schedules',
      REDIS_URL: 'redis://localhost:1',
      BLOB_URL: 'redis:',
    },
    'gateway',
  );
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.config;
}

/** The env of a turn, as the product's worker puts it together; only the model and Telegram are not its own. */
export function envOf(
  redis: Redis,
  keys: Keys,
  lane: Lane,
  observability: Observability,
  {
    model,
    telegram,
    tools,
    queue,
  }: { model: Model; telegram: Telegram; tools: Toolbox; queue: Pick<TurnQueue, 'add'> },
): Env {
  const media = createMediaStore({ redis, keys, retentionDays: RETENTION_DAYS });
  return {
    ...observability,
    settings: SETTINGS,
    model,
    budget: undefined,
    boundModels: new Set(),
    takesFixedParts: async () => ({ kind: 'taken' }),
    tools: withExclusions(tools),
    sessions: createSessions(redis, keys),
    media,
    files: notedFiles(redis, keys),
    memoryBook: createMemoryBook(redis, keys),
    breaker: ALWAYS_THERE,
    telegram,
    progress: createProgressViews(telegram, 'off'),
    chatState: { ...createChatState(redis, keys), wake: (head) => queue.add([head]) },
    chatArchive: createChatArchive({ redis, keys, blobs: undefined, media }),
    usageBook: createUsageBook(redis, keys),
    deadLetters: createDeadLetters(redis, keys),
    recall: createChatMemory({ redis, keys, blobs: undefined, log: observability.log }),
    reminders: createReminderBook(redis, keys),
    seesGroups: async () => undefined,
    desk: async () => conclude({ outcome: 'command', reason: 'desk', parts: [] }),
    summonses: summonsBook(redis, keys),
    transcriber: undefined,
    lane,
  };
}
