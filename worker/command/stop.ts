import { type CommandHandler, replied } from './command.ts';

/** `/stop`: the messages before it were cancelled at its admission. */
export const stop: CommandHandler = (_ports, { attempt }) => {
  const { texts } = attempt;
  return replied('stop', attempt.turn.company.hasCancelled ? texts.stopped : texts.nothingToStop);
};
