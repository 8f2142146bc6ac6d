import type { Attempt, Command, Conclusion } from './attempt.ts';
import { NOTICE } from './notice.ts';
import { emptySessionCommands, newSessionId } from './session/store.ts';

/** A bot command that this version carries out. */
export type BotCommand = 'start' | 'help' | 'new';

const COMMAND = /^\/(start|help|new)(?:@\w{1,64})?(?:\s|$)/;

/** Reads a bot command; any other text, unknown commands included, is a message for the model. Pure. */
export function commandOf(text: string): BotCommand | undefined {
  return COMMAND.exec(text)?.[1] as BotCommand | undefined;
}

/** What a command says to the user and changes in Redis. Pure but for the new session's id. */
export function carryOut(command: BotCommand, attempt: Attempt): { conclusion: Conclusion; commands: Command[] } {
  if (command !== 'new')
    return { conclusion: { outcome: 'command', reason: command, parts: [NOTICE.help] }, commands: [] };
  const { keys, chat, session } = attempt;
  return {
    conclusion: { outcome: 'command', reason: command, parts: [NOTICE.newConversation] },
    commands: emptySessionCommands(keys, chat, session, newSessionId()),
  };
}
