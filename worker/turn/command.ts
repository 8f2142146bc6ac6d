import type { BotCommand } from '../../shared/telegram/commands.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import { type Concluding, conclude } from '../lane/verdict.ts';
import { emptySessionCommands, newSessionId } from '../session/store.ts';

/** The field of a cancelling command's turn that holds how many messages it cancelled. */
const CANCELLED = 'cancelledOthers';

/** A command's reply and its changes in Redis. Pure except for the new session's id. */
export function carryOut(command: BotCommand, attempt: Attempt): Concluding {
  const { keys, chat, session, texts } = attempt;
  const answered = (text: string): Conclusion => ({ outcome: 'command', reason: command, parts: [text] });
  switch (command) {
    case 'new':
      return conclude(answered(texts.newConversation), emptySessionCommands(keys, chat, session, newSessionId()));
    case 'stop':
      return conclude(answered(attempt.field(CANCELLED) === undefined ? texts.nothingToStop : texts.stopped));
    default:
      return conclude(answered(texts.help));
  }
}
