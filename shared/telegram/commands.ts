/** What a bot command does to the messages around it. */
interface Manner {
  /** It forgets, costs, decides or shows the past: in a group, only for people who are on the allow list themselves. */
  isGuarded?: true | 'with words';
  /** It does not wait for what is being answered. */
  isAtOnce?: true;
}

/** The bot commands that this version carries out. */
const COMMANDS = {
  start: { isAtOnce: true },
  help: { isAtOnce: true },
  new: { isGuarded: true },
  stop: {},
  retry: { isGuarded: true },
  compact: { isGuarded: true },
  status: { isAtOnce: true },
  usage: { isAtOnce: true },
  model: { isGuarded: true, isAtOnce: true },
  recall: { isGuarded: true, isAtOnce: true },
  export: { isGuarded: true, isAtOnce: true },
  forget: { isGuarded: true },
  lang: { isGuarded: true, isAtOnce: true },
  busy: { isGuarded: true, isAtOnce: true },
  reminders: { isGuarded: 'with words', isAtOnce: true },
  timezone: { isGuarded: true, isAtOnce: true },
} as const satisfies Record<string, Manner>;

export type CommandName = keyof typeof COMMANDS;

/** A bot command as somebody gave it. */
export interface BotCommand {
  name: CommandName;
  /** The words behind it, trimmed; often empty. */
  words: string;
}

/** The word behind `/forget` that makes it happen; without it the command only asks. */
export const CONFIRMED = 'yes';

const COMMAND = /^\/([a-z]{1,32})(?:@\w{1,64})?(?=\s|$)/;

/** Reads a bot command; any other text, unknown commands included, is a message for the model. Pure. */
export function commandOf(text: string): BotCommand | undefined {
  const match = COMMAND.exec(text);
  const name = match?.[1] ?? '';
  if (match === null || !Object.hasOwn(COMMANDS, name)) return undefined;
  return { name: name as CommandName, words: text.slice(match[0].length).trim() };
}

/** Whether the sender may give a command. */
export function isPermitted({ name, words }: BotCommand, { isGuest }: { isGuest?: true | undefined }): boolean {
  const { isGuarded }: Manner = COMMANDS[name];
  return isGuest !== true || isGuarded === undefined || (isGuarded === 'with words' && words === '');
}

/** Whether a command is carried out beside what is being answered. */
export function actsAtOnce({ name }: BotCommand): boolean {
  const { isAtOnce }: Manner = COMMANDS[name];
  return isAtOnce === true;
}

/** Whether a command cancels earlier messages that are not answered yet. */
export function cancels({ name, words }: BotCommand): boolean {
  return name === 'stop' || name === 'new' || (name === 'forget' && words === CONFIRMED);
}

/** Whether a text begins like a command of any bot. Pure. */
export function isCommand(text: string): boolean {
  return /^\/\w{1,64}(?:@\w{1,64})?(?:\s|$)/.test(text);
}

const ADDRESSED = /^\/\w{1,64}@(\w{1,64})(?:\s|$)/;

/** The name of the bot that a command addresses; undefined when the text names none. Pure. */
export function addresseeOf(text: string): string | undefined {
  return ADDRESSED.exec(text)?.[1];
}
