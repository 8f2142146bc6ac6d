import { type CommandHandler, replied } from './command.ts';

/** `/stop`: the messages before it were cancelled at its admission. */
export const stop: CommandHandler = ({ turn }) => {
  const { texts } = turn;
  return replied('stop', turn.merge.hasCancelled ? texts.stopped : texts.nothingToStop);
};
