import type { LanguageCode } from '@grammyjs/types';
import leven from 'leven';
import { DEFAULT_LANGUAGE, LANGUAGES, type Language, TEXTS } from '../texts/language.ts';

/** The rules for a bot command. The command's handler is in `worker/command/` or in the folder of a feature. */
interface CommandRule {
  /**
   * The people who may give the command. `listed`: people on the allow list, for a command that erases, costs money, decides
   * for everybody or shows the past. `listed with words`: the same, but without an argument everybody may give the command.
   * `operators`: only operators, in the operators' chat. `strangers`: only the producer, in the name of a stranger.
   */
  who: 'everybody' | 'listed' | 'listed with words' | 'operators' | 'strangers';
  /** The lane in which the command waits: the chat's own (behind earlier messages), its command lane, or its desk lane. */
  lane: 'chat' | 'commands' | 'desk';
  /** The menus that offer the command. Everybody in a group sees the group's menu. `help`: only the reply to `/help`. */
  menu: 'everywhere' | 'private' | 'help' | 'nowhere';
  /** Set if the command cancels the chat's earlier unanswered messages: always, or only with the argument `CONFIRMED`. */
  cancels?: 'always' | 'confirmed';
}

/** The bot commands, in the order of the menu. */
const COMMANDS = {
  stop: { who: 'everybody', lane: 'chat', menu: 'everywhere', cancels: 'always' },
  new: { who: 'listed', lane: 'chat', menu: 'everywhere', cancels: 'always' },
  retry: { who: 'listed', lane: 'chat', menu: 'everywhere' },
  chats: { who: 'listed', lane: 'commands', menu: 'private' },
  /** The buttons of `/chats`, and one below the notice of a fresh session, send this command. */
  continue: { who: 'listed', lane: 'chat', menu: 'nowhere' },
  status: { who: 'everybody', lane: 'commands', menu: 'everywhere' },
  model: { who: 'listed', lane: 'commands', menu: 'private' },
  compact: { who: 'listed', lane: 'chat', menu: 'private' },
  recall: { who: 'listed', lane: 'commands', menu: 'private' },
  export: { who: 'listed', lane: 'commands', menu: 'private' },
  reminders: { who: 'listed with words', lane: 'commands', menu: 'private' },
  memory: { who: 'listed', lane: 'commands', menu: 'private' },
  tools: { who: 'listed with words', lane: 'commands', menu: 'private' },
  usage: { who: 'everybody', lane: 'commands', menu: 'private' },
  timezone: { who: 'listed', lane: 'commands', menu: 'private' },
  busy: { who: 'listed', lane: 'commands', menu: 'private' },
  lang: { who: 'listed', lane: 'commands', menu: 'private' },
  forget: { who: 'listed', lane: 'chat', menu: 'private', cancels: 'confirmed' },
  help: { who: 'everybody', lane: 'commands', menu: 'everywhere' },
  start: { who: 'everybody', lane: 'commands', menu: 'nowhere' },
  whoami: { who: 'everybody', lane: 'commands', menu: 'help' },
  /** The buttons under a question send this command. */
  decide: { who: 'listed', lane: 'commands', menu: 'nowhere' },
  /** The producer turns operators' commands and presses of buttons in the operators' chat into this command. */
  desk: { who: 'operators', lane: 'desk', menu: 'nowhere' },
  /** The producer stores this command in place of a stranger's message. */
  pair: { who: 'strangers', lane: 'commands', menu: 'nowhere' },
} as const satisfies Record<string, CommandRule>;

export type CommandName = keyof typeof COMMANDS;

/** The commands in the operators' chat, with descriptions. Each name is the first word of an argument of `desk`. */
export const DESK_MENU = {
  status: 'the state of everything',
  incidents: 'what is wrong, or recently was',
  message: 'what happened to a message; add its entry or trace',
  chat: 'the state of one chat; add its number',
  dead: 'messages that failed; add a number for one chat',
  audit: 'outcomes and the proof of 7 days; add another number of days',
  cost: 'what the calls of a day have cost; add another number of days',
  pause: 'pauses a chat; add its number, or all, and why',
  resume: 'ends a pause; add the number of the chat, or all',
  help: 'what you can ask here',
} as const;

export const DESK_WORDS = Object.keys(DESK_MENU);

/** The commands that a menu or `/help` names. */
type MenuName = {
  [Name in CommandName]: (typeof COMMANDS)[Name]['menu'] extends 'nowhere' ? never : Name;
}[CommandName];

/** A bot command in a message. */
export interface BotCommand {
  name: CommandName;
  /** The text after the name, trimmed; empty if there is none. */
  argument: string;
}

/** The argument with which `/forget` erases the chat. Without this argument the command only asks for confirmation. */
export const CONFIRMED = 'yes';

/** A command in upper or lower case, after a slash or the wide slash of a Chinese keyboard. */
const COMMAND = /^[/／]([a-z]{1,32})(?:@\w{1,64})?(?=\s|$)/i;

/** Splits a text that begins with a command into the lower-case name and the trimmed text after it; else `undefined`. Pure. */
export function slashed(text: string): { name: string; words: string } | undefined {
  const match = COMMAND.exec(text);
  return match === null
    ? undefined
    : { name: String(match[1]).toLowerCase(), words: text.slice(match[0].length).trim() };
}

/** Reads a bot command; `undefined` for any other text, even an unknown command, because such texts are for the model. Pure. */
export function commandOf(text: string): BotCommand | undefined {
  const { name = '', words: argument = '' } = slashed(text) ?? {};
  return Object.hasOwn(COMMANDS, name) ? { name: name as CommandName, argument } : undefined;
}

/** The command that a misspelt command without an argument probably means, one typing error away; else `undefined`. Pure. */
export function meantCommand(text: string): MenuName | undefined {
  const [, word = ''] = /^[/／]([a-z]{3,32})$/i.exec(text.trim()) ?? [];
  return commandOf(text) ? undefined : HELP_NAMES.find((name) => isMisspelt(word.toLowerCase(), name));
}

/** Whether a word differs from a name by one letter that is missing, added or wrong, or by two swapped neighbours. */
function isMisspelt(word: string, name: string): boolean {
  const swaps = [...word].map((letter, at) => word.slice(0, at) + word.charAt(at + 1) + letter + word.slice(at + 2));
  return leven(word, name) === 1 || swaps.includes(name);
}

/** Whether the sender may give a command. */
export function isPermitted(
  command: BotCommand,
  { isGuest, isOperator, isStranger }: { [Mark in 'isGuest' | 'isOperator' | 'isStranger']?: true | undefined },
): boolean {
  const { who } = COMMANDS[command.name];
  if (who === 'operators') return isOperator === true;
  if (who === 'strangers') return isStranger === true;
  return isGuest !== true || who === 'everybody' || (who === 'listed with words' && command.argument === '');
}

/** The lane in which a command waits. */
export function laneOfCommand(command: BotCommand): CommandRule['lane'] {
  return COMMANDS[command.name].lane;
}

/** Whether a command cancels earlier messages that are not answered yet. */
export function cancels(command: BotCommand): boolean {
  const { cancels: when }: CommandRule = COMMANDS[command.name];
  return when === 'always' || (when === 'confirmed' && command.argument === CONFIRMED);
}

/** Whether a text begins like a command of any bot. Pure. */
export function isCommand(text: string): boolean {
  return /^[/／]\w{1,64}(?:@\w{1,64})?(?:\s|$)/.test(text);
}

/** The name of the bot that a command addresses; `undefined` if the text names none. Pure. */
export function addresseeOf(text: string): string | undefined {
  return /^[/／]\w{1,64}@(\w{1,64})(?:\s|$)/.exec(text)?.[1];
}

/** The commands that Telegram apps offer in some chats and one language; without `language`, in all other languages. */
export interface Menu {
  /** A number is the id of one chat. */
  scope: 'all_private_chats' | 'all_group_chats' | number;
  /** An ISO 639-1 code, of two letters. */
  language: LanguageCode | undefined;
  commands: readonly { command: string; description: string }[];
}

/** The commands that a private chat offers, in their order. */
const MENU_NAMES = namesIn('everywhere', 'private');
/** The commands that `/help` names. */
export const HELP_NAMES = namesIn('everywhere', 'private', 'help');

/** All menus except those of the operators' chat. An app shows the menu of the narrowest scope, if possible in its language. */
export const MENUS: readonly Menu[] = LANGUAGES.flatMap((code) => [
  menuOf('all_private_chats', code, MENU_NAMES),
  menuOf('all_group_chats', code, namesIn('everywhere')),
]);

/**
 * The menus of the operators' chat, which replace the other menus there: the operators' commands and, if the chat is also a
 * conversation with the bot, the usual commands whose names do not clash. Pure.
 */
export function deskMenus(chatId: number, isConversation: boolean): readonly Menu[] {
  const names = chatId > 0 ? MENU_NAMES : namesIn('everywhere');
  const own = isConversation ? names.filter((name) => !DESK_WORDS.includes(name)) : [];
  const desk = Object.entries(DESK_MENU).map(([command, description]) => ({ command, description }));
  return LANGUAGES.map((code) => {
    const { commands, ...menu } = menuOf(chatId, code, own);
    return { ...menu, commands: [...desk, ...commands] };
  });
}

function menuOf(scope: Menu['scope'], code: Language, names: readonly MenuName[]): Menu {
  const language = code === DEFAULT_LANGUAGE ? undefined : (code.slice(0, 2) as LanguageCode);
  return { scope, language, commands: names.map((command) => ({ command, description: TEXTS[code].menu[command] })) };
}

function namesIn(...menus: CommandRule['menu'][]): readonly MenuName[] {
  return (Object.keys(COMMANDS) as CommandName[]).filter((name): name is MenuName =>
    menus.includes(COMMANDS[name].menu),
  );
}
