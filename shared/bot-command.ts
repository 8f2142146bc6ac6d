/** A bot command that this version carries out. */
export type BotCommand = 'start' | 'help' | 'new' | 'stop';

const COMMAND = /^\/(start|help|new|stop)(?:@\w{1,64})?(?:\s|$)/;

/** Reads a bot command; any other text, unknown commands included, is a message for the model. Pure. */
export function commandOf(text: string): BotCommand | undefined {
  return COMMAND.exec(text)?.[1] as BotCommand | undefined;
}

/** Whether a command cancels what was written before it and is not answered yet. */
export function cancels(command: BotCommand | undefined): command is 'stop' | 'new' {
  return command === 'stop' || command === 'new';
}
