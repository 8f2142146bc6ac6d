import type { ChatKey } from '../shared/redis/keys.ts';
import type { Env } from './env.ts';
import { createMemory } from './memory/tool.ts';
import { createReminders } from './reminders/tool.ts';
import type { ShardEnv } from './shard-env.ts';
import { createAskUser } from './tools/asking.ts';
import { createRecall } from './tools/recall/recall.ts';
import { createSendFile } from './tools/send-file.ts';
import { joinToolboxes } from './tools/toolboxes.ts';

/** The tools of the chats of one shard: our own, and those of other servers. */
export function chatTools(
  env: ShardEnv & Pick<Env, 'recall' | 'files' | 'media' | 'reminders' | 'memoryBook'>,
): Env['tools'] {
  const { log, tools, recall, files, media, settings, reminders, memoryBook } = env;
  const loadKept = async (chat: ChatKey, sha256: string) => (await media.load(chat, [sha256])).get(sha256);
  const own = [
    createRecall(recall, loadKept, log),
    createSendFile(files, media, loadKept),
    createReminders(reminders, settings),
    createMemory(memoryBook),
    createAskUser(),
  ];
  const { exclude, excluded } = tools;
  return { ...joinToolboxes([...own, tools]), exclude, excluded };
}
