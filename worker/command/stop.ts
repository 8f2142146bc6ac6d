import { type CommandHandler, replied } from './command.ts';

/** The field of a cancelling command's turn that holds how many messages it cancelled. */
const CANCELLED = 'cancelledOthers';

/** `/stop`: the messages before it were cancelled at its admission. */
export const stop: CommandHandler = (_ports, { attempt }) => {
  const { texts } = attempt;
  return replied('stop', attempt.field(CANCELLED) === undefined ? texts.nothingToStop : texts.stopped);
};
