import { type CommandHandler, replied } from './command.ts';

/** The field of the command's turn for the dead letter that it puts back. */
const CHOSEN = 'retries';

/**
 * `/retry`: puts the newest failed message of the chat, or the one that a button names, back at the end of the chat's
 * lane. The choice is stored first: after a crash the same letter is put back, and putting back twice changes nothing.
 */
export const retry: CommandHandler = async ({ deadLetters }, { attempt, words }) => {
  const { chat, keys, entry, texts } = attempt;
  const chosen = attempt.field(CHOSEN) ?? (await deadLetters.newest(chat, words === '' ? undefined : words));
  if (chosen === undefined) return replied('retry', texts.nothingToRetry);
  await attempt.write('', [['HSET', keys.turn(entry), CHOSEN, chosen]]);
  await deadLetters.replay(chosen);
  return replied('retry', texts.retrying);
};
