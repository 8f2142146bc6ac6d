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
import type { Lane } from '../../worker/lane/lane.ts';
import type { TurnQueue } from '../../worker/lane/queue.ts';
import type { Settings } from '../../worker/lane/settings.ts';
import { conclude } from '../../worker/lane/verdict.ts';
import { createMediaStore } from '../../worker/media/store.ts';
import type { Model } from '../../worker/model/port.ts';
import { createDrafts } from '../../worker/reply/drafts.ts';
import { createProgressViews } from '../../worker/reply/progress.ts';
import { createStatusLines } from '../../worker/reply/status-line.ts';
import { createSessions } from '../../worker/session/store.ts';
import { settingsOf } from '../../worker/settings.ts';
import { createChatMemory } from '../../worker/tools/recall/chat-memory.ts';
import type { Toolbox } from '../../worker/tools/toolbox.ts';
import { withExclusions } from '../../worker/tools/toolboxes.ts';
import type { ProcessorPorts } from '../../worker/turn/processor.ts';
import { ALWAYS_THERE } from '../fixture/breaker.ts';

/** Nothing shows before an answer in a schedule. */
const NEVER_MS = 1_000_000_000;
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

/** What a turn works with, as the product's worker puts it together; only the model and Telegram are not its own. */
export function turnPorts(
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
): ProcessorPorts['turn'] {
  const { log } = observability;
  const media = createMediaStore({ redis, keys, retentionDays: RETENTION_DAYS });
  const drafts = createDrafts({ telegram, firstAfterMs: NEVER_MS, everyMs: NEVER_MS, refreshMs: NEVER_MS });
  const statusLines = createStatusLines({ telegram, afterMs: NEVER_MS, everyMs: NEVER_MS });
  return {
    ask: {
      settings: SETTINGS,
      endpoint: {
        model,
        budget: undefined,
        boundModels: new Set(),
        takesFixedParts: async () => ({ kind: 'taken' }),
      },
      tools: withExclusions(tools),
      store: { sessions: createSessions(redis, keys), media },
      files: notedFiles(redis, keys),
      memoryBook: createMemoryBook(redis, keys),
      observability,
      breaker: ALWAYS_THERE,
    },
    telegram,
    breaker: ALWAYS_THERE,
    progress: createProgressViews({ drafts, statusLines, streaming: 'off' }),
    commands: {
      state: { ...createChatState(redis, keys), wake: (head) => queue.add([head]) },
      archive: createChatArchive({ redis, keys, blobs: undefined, media }),
      usageBook: createUsageBook(redis, keys),
      deadLetters: createDeadLetters(redis, keys),
      memory: createChatMemory({ redis, keys, blobs: undefined, log }),
      reminders: createReminderBook(redis, keys),
      installation: {
        seesGroups: async () => undefined,
        desk: async () => conclude({ outcome: 'command', reason: 'desk', parts: [] }),
      },
    },
    summonses: summonsBook(redis, keys),
    transcriber: undefined,
    lane,
  };
}
