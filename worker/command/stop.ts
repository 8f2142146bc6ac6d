import { emptySession, newSessionId } from '../session/store.ts';
import type { CarryOut } from './commands.ts';
import { replied } from './reply.ts';

/** The field of a cancelling command's turn that holds how many messages it cancelled. */
const CANCELLED = 'cancelledOthers';

/** `/stop`: the messages before it were cancelled at its admission. */
export const stop: CarryOut = (_ports, { attempt }) => {
  const { texts } = attempt;
  return replied('stop', attempt.field(CANCELLED) === undefined ? texts.nothingToStop : texts.stopped);
};

/** `/new`: as `/stop`, and the chat goes on in an empty session. */
export const newConversation: CarryOut = (_ports, { attempt: { keys, chat, session, texts } }) =>
  replied('new', texts.newConversation, {
    commands: emptySession(keys, chat, session, newSessionId()),
  });
