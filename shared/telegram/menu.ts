import { DEFAULT_LANGUAGE, LANGUAGES, TEXTS } from '../texts/language.ts';
import type { CommandName } from './commands.ts';

/** The commands that apps offer in some chats, to people whose app has that language; to all others without one. */
export interface Menu {
  scope: 'all_private_chats' | 'all_group_chats';
  /** An ISO 639-1 code, of two letters. */
  language: string | undefined;
  commands: readonly { command: CommandName; description: string }[];
}

const PRIVATE = [
  'stop',
  'new',
  'retry',
  'status',
  'model',
  'compact',
  'recall',
  'export',
  'reminders',
  'usage',
  'timezone',
  'busy',
  'lang',
  'forget',
  'help',
] as const satisfies CommandName[];
/** The menu of a group is seen by all of its people: it offers what concerns all of them. */
const GROUP = ['stop', 'new', 'retry', 'status', 'help'] as const satisfies CommandName[];

/** Every menu of the bot. An app takes the one of the narrowest scope, and there the one of its language. */
export const MENUS: readonly Menu[] = LANGUAGES.flatMap((language) => {
  const hint = (command: (typeof PRIVATE)[number]) => ({ command, description: TEXTS[language].menu[command] });
  const code = language === DEFAULT_LANGUAGE ? undefined : language.slice(0, 2);
  return [
    { scope: 'all_private_chats', language: code, commands: PRIVATE.map(hint) },
    { scope: 'all_group_chats', language: code, commands: GROUP.map(hint) },
  ];
});
