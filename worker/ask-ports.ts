import type { ChatKey } from '../shared/redis/keys.ts';
import { createMemoryBook } from '../shared/state/memory/book.ts';
import { createReminderBook } from '../shared/state/reminder/book.ts';
import { type NotedFiles, notedFiles } from '../shared/state/turn/noted-files.ts';
import { type Books, withAccount } from './budget/guarded.ts';
import type { Settings } from './lane/settings.ts';
import { createMediaStore, type MediaStore } from './media/store.ts';
import { createMemory } from './memory/tool.ts';
import type { WorkerPorts } from './ports.ts';
import type { Endpoint } from './recovery/effects.ts';
import { createReminders } from './reminders/tool.ts';
import { createSessions } from './session/store.ts';
import { settingsOf } from './settings.ts';
import type { ShardPorts } from './shard.ts';
import { createAskUser } from './tools/asking.ts';
import type { ChatMemory } from './tools/recall/chat-memory.ts';
import { createRecall } from './tools/recall/recall.ts';
import { createSendFile } from './tools/send-file.ts';
import { joinToolboxes } from './tools/toolboxes.ts';
import type { ProcessPorts } from './worker.ts';

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
    boundModels: shared.boundModels,
    takesFixedParts: (fixed, failure, signal) => shared.fixedParts(model, fixed, failure, signal),
  };
  const store = { sessions: createSessions(redis, keys, shared.windows), media };
  const memoryBook = createMemoryBook(redis, keys);
  return { settings, endpoint, tools, store, files, memoryBook, observability, breaker: shared.breaker };
}

/** The tools of the chats of one shard: our own, and those of other servers. */
function chatTools(
  ports: WorkerPorts,
  { redis, keys }: ShardPorts,
  { memory, files, media, settings }: { memory: ChatMemory; files: NotedFiles; media: MediaStore; settings: Settings },
) {
  const loadKept = async (chat: ChatKey, sha256: string) => (await media.load(chat, [sha256])).get(sha256);
  const recall = createRecall({ memory, log: ports.observability.log, loadKept });
  const sendFile = createSendFile({ files, keep: media.keep, loadKept });
  const reminders = createReminders({ book: createReminderBook(redis, keys), settings });
  const remember = createMemory(createMemoryBook(redis, keys));
  const { exclude, excluded } = ports.tools;
  return { ...joinToolboxes([recall, sendFile, reminders, remember, createAskUser(), ports.tools]), exclude, excluded };
}
