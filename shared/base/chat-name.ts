import { createHmac } from 'node:crypto';

/** The name of a chat in spans. */
export type NameChat = (chat: string) => string;

const NAME_CHARS = 16;
const KEPT_MAX = 10_000;

/**
 * Names a chat by a hash with a key, so that whoever reads traces can follow a chat and not tell whose it is; `plain`: by its
 * own id. The same key gives the same name.
 */
export function createChatNames({ key, plain }: { key: string; plain: boolean }): NameChat {
  if (plain) return (chat) => chat;
  const kept = new Map<string, string>();
  return (chat) => {
    const name = kept.get(chat) ?? createHmac('sha256', `spillway chat ${key}`).update(chat).digest('hex');
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(chat, name);
    return name.slice(0, NAME_CHARS);
  };
}
