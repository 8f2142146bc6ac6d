import { type CommandHandler, replied } from './command.ts';

/**
 * `/retry`: replays a failed message at the end of the chat's lane: the one that a button names, or else the newest one.
 * Stores the choice first, so that an attempt after a crash replays the same message; a second replay changes nothing.
 */
export const retry: CommandHandler = async ({ turn, argument }) => {
  const { deadLetters } = turn.env;
  const { chat, texts } = turn;
  const chosen = turn.merge.retries ?? (await deadLetters.newest(chat, argument === '' ? undefined : argument));
  if (chosen === undefined) return replied('retry', texts.nothingToRetry);
  await turn.write('', [turn.merge.retry(chosen)]);
  await deadLetters.replay(chosen);
  return replied('retry', texts.retrying);
};
