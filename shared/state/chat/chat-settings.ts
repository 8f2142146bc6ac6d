import { type ChatKey, parseChatKey } from '../../redis/keys.ts';
import type { Language } from '../../texts/language.ts';
import type { OwnLimits } from '../spending/limit.ts';

/** An operator's settings for one chat (`CHATS_FILE`). If a setting is absent, the setting for all chats applies. */
export interface ChatSettings extends OwnLimits {
  systemPrompt?: string | undefined;
  model?: string | undefined;
  /** The only tools that the chat may use: names, or `server__*` for all tools of a server. */
  tools?: readonly string[] | undefined;
  language?: Language | undefined;
}

/** The settings of chats, by their keys; `*` for all other chats. */
export type ChatTable = ReadonlyMap<string, ChatSettings>;

/** The key of a table's entry for chats that have no entry of their own. */
export const OTHER_CHATS = '*';

/**
 * The settings of a chat: the first entry found among those for the chat or topic itself, for the topic's chat, for the former
 * group, and for all other chats. Empty if there is none. `current` is the supergroup that the chat became, or else the chat;
 * `former` is the group that `current` was. Entries are not merged. Pure.
 */
export function settingsOfChat(table: ChatTable, chat: ChatKey, current: ChatKey, former?: ChatKey): ChatSettings {
  const { chatId, summonedTo } = parseChatKey(current) ?? {};
  // A summons never uses the settings of the person's private chat, because other people read its answer.
  const names = summonedTo === undefined ? [current, chatId, chat, former, OTHER_CHATS] : [current, OTHER_CHATS];
  return names.map((name) => table.get(String(name))).find((settings) => settings !== undefined) ?? {};
}

/** Whether a chat may use a tool. Without `tools`, the chat may use all tools. Pure. */
export function hasTool({ tools }: ChatSettings, name: string): boolean {
  return tools?.some((tool) => tool === name || (tool.endsWith('__*') && name.startsWith(tool.slice(0, -1)))) ?? true;
}
