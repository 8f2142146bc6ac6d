import type { ChatKey } from '../shared/redis/keys.ts';
import { createMemoryBook } from '../shared/state/memory/book.ts';
import { createReminderBook } from '../shared/state/reminder/book.ts';
import type { NotedFiles } from '../shared/state/turn/noted-files.ts';
import type { Settings } from './lane/settings.ts';
import type { MediaStore } from './media/store.ts';
import { createMemory } from './memory/tool.ts';
import type { WorkerPorts } from './ports.ts';
import { createReminders } from './reminders/tool.ts';
import type { ShardPorts } from './shard.ts';
import { createAskUser } from './tools/asking.ts';
import type { ChatMemory } from './tools/recall/chat-memory.ts';
import { createRecall } from './tools/recall/recall.ts';
import { createSendFile } from './tools/send-file.ts';
import { joinToolboxes } from './tools/toolboxes.ts';

/** The tools of the chats of one shard: our own, and those of other servers. */
export function chatTools(
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
