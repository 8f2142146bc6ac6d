import { emptySession, newSessionId } from '../session/store.ts';
import { type CommandHandler, replied } from './command.ts';

/** The step in which `/new <text>` starts the conversation. After it, the message is an ordinary one with that text. */
export const NEW_CONVERSATION_STARTED = 'begun anew';

/**
 * `/new`: stops as `/stop` does, and starts an empty session. A text after the command is the first message there, and a
 * notice before its answer says that the conversation is new.
 */
export const newConversation: CommandHandler = async ({ turn, argument }) => {
  const { keys, chat, session, texts, notices } = turn;
  const changes = emptySession(keys, chat, session, newSessionId());
  if (argument === '') return replied('new', texts.newConversation, { changes });
  await turn.write(NEW_CONVERSATION_STARTED, [...changes, turn.notify([...notices, texts.newConversation])]);
  return { kind: 'hand back', reason: 'begun_anew' };
};
