import { emptySession, newSessionId } from '../session/store.ts';
import { type CommandHandler, replied } from './command.ts';

/** The step in which a conversation begins anew with words: from then on the command is a message with them. */
export const BEGUN_ANEW = 'begun anew';

/**
 * `/new`: as `/stop`, and the chat goes on in an empty session. With words behind it these are the first message there,
 * and their answer says that the conversation is a new one.
 */
export const newConversation: CommandHandler = async ({ turn, words }) => {
  const { keys, chat, session, texts, notices } = turn;
  const changes = emptySession(keys, chat, session, newSessionId());
  if (words === '') return replied('new', texts.newConversation, { changes });
  await turn.write(BEGUN_ANEW, [...changes, turn.notify([...notices, texts.newConversation])]);
  return { kind: 'hand back', reason: 'begun_anew' };
};
