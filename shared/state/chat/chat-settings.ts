import { type ChatKey, parseChatKey } from '../../redis/keys.ts';
import type { Language } from '../../texts/language.ts';
import type { OwnLimits } from '../spending/limit.ts';

/** What the operator sets for a chat; what is absent is as for all chats. */
export interface ChatSettings extends OwnLimits {
  systemPrompt?: string | undefined;
  model?: string | undefined;
  /** The only tools that the chat has: names, and `server__*` for all tools of a server. */
  tools?: readonly string[] | undefined;
  language?: Language | undefined;
}

/** The settings of chats, by their keys; `*` for the chats that have none. */
export type ChatTable = ReadonlyMap<string, ChatSettings>;

/** The entry of a table for the chats that have no entry of their own. */
export const OTHER_CHATS = '*';

/**
 * The settings of a chat: its own, or else those of the chat of a topic, or of all others. A group that became a
 * supergroup has those of its new id, `current`, or else of its old one, `was`. One entry holds; they are not merged.
 * Pure.
 */
export function settingsOfChat(table: ChatTable, chat: ChatKey, current: ChatKey, was?: ChatKey): ChatSettings {
  const { chatId, summonedTo } = parseChatKey(current) ?? {};
  // What is set for the person's own chat may be nobody else's business.
  const names = summonedTo === undefined ? [current, chatId, chat, was, OTHER_CHATS] : [current, OTHER_CHATS];
  return names.map((name) => table.get(String(name))).find((settings) => settings !== undefined) ?? {};
}

/** Whether a tool is among those that a chat has. Pure. */
export function hasTool({ tools }: ChatSettings, name: string): boolean {
  return tools?.some((tool) => tool === name || (tool.endsWith('__*') && name.startsWith(tool.slice(0, -1)))) ?? true;
}
