import { emptySession, newSessionId } from '../session/store.ts';
import { type CommandHandler, replied } from './command.ts';

/** The step in which `/new <text>` starts the conversation. Afterwards the message is an ordinary message with that text. */
export const NEW_CONVERSATION_STARTED = 'begun anew';

/**
 * `/new`: starts an empty session. The command's admission has already cancelled earlier messages, as with `/stop`. A text
 * after the command is the first message of the session; a notice before the answer says that the conversation is new.
 */
export const newConversation: CommandHandler = async ({ turn, argument }) => {
  const { keys, chat, session, texts, notices } = turn;
  const changes = emptySession(keys, chat, session, newSessionId());
  if (argument === '') return replied('new', texts.newConversation, { changes });
  await turn.write(NEW_CONVERSATION_STARTED, [...changes, turn.notify([...notices, texts.newConversation])]);
  return { kind: 'hand back', reason: 'begun_anew' };
};
