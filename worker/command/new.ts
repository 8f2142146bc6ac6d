import { emptySession, newSessionId } from '../session/store.ts';
import { type CommandHandler, replied } from './command.ts';

/** `/new`: as `/stop`, and the chat goes on in an empty session. */
export const newConversation: CommandHandler = (_ports, { attempt: { keys, chat, session, texts } }) =>
  replied('new', texts.newConversation, { changes: emptySession(keys, chat, session, newSessionId()) });
