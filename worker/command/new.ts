import { emptySession, newSessionId } from '../session/store.ts';
import { type CommandHandler, replied } from './command.ts';

const STARTED = 'begun anew';

/**
 * `/new`: starts an empty session. The command's admission has already cancelled earlier messages, as with `/stop`. A text
 * after the command is the first message of the session; a notice before the answer says that the conversation is new.
 */
export const newConversation: CommandHandler = async ({ turn, message, argument }) => {
  if (turn.hasDone(STARTED))
    return { kind: 'ask', message: { ...message, content: { ...message.content, text: argument } } };
  const { keys, chat, session, texts, notices } = turn;
  const changes = emptySession(keys, chat, session, newSessionId());
  if (argument === '') return replied('new', texts.newConversation, { changes });
  await turn.write(STARTED, [...changes, turn.notify([...notices, texts.newConversation])]);
  return { kind: 'hand back', reason: 'begun_anew' };
};
