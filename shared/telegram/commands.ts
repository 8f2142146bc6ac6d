/** A bot command that this version carries out. */
export type BotCommand = 'start' | 'help' | 'new' | 'stop';

/** A command as an app offers it. */
export interface CommandHint {
  command: BotCommand;
  description: string;
}

/** What apps offer. */
export const COMMAND_HINTS: readonly CommandHint[] = [
  { command: 'stop', description: 'End what I am working on, and what waits' },
  { command: 'new', description: 'End that too, and start a new conversation' },
  { command: 'help', description: 'Say what I can do' },
];

const COMMAND = /^\/(start|help|new|stop)(?:@\w{1,64})?(?:\s|$)/;

/** Reads a bot command; any other text, unknown commands included, is a message for the model. Pure. */
export function commandOf(text: string): BotCommand | undefined {
  return COMMAND.exec(text)?.[1] as BotCommand | undefined;
}

/** Commands that forget or cost: in a group, only for people who are on the allow list themselves. */
const GUARDED: ReadonlySet<BotCommand> = new Set(['new']);

/** Whether the sender may give a command. */
export function isPermitted(command: BotCommand, { isGuest }: { isGuest?: true | undefined }): boolean {
  return isGuest !== true || !GUARDED.has(command);
}

/** Whether a command cancels earlier messages that are not answered yet. */
export function cancels(command: BotCommand | undefined): command is 'stop' | 'new' {
  return command === 'stop' || command === 'new';
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
