import { type CommandHandler, replied } from './command.ts';

/** `/stop`: reports whether the command's admission cancelled any earlier message. */
export const stop: CommandHandler = ({ turn }) => {
  const { texts } = turn;
  return replied('stop', turn.merge.hasCancelled ? texts.stopped : texts.nothingToStop);
};
