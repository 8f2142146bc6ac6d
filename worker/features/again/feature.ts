import { type CommandHandler, replied } from '../../command/command.ts';
import type { Feature } from '../../feature.ts';

/**
 * `/retry`: replays a failed message at the end of the chat's lane: the one that a button names, or else the newest one.
 * Stores the choice first, so that an attempt after a crash replays the same message; a second replay changes nothing.
 */
const retry: CommandHandler = async ({ turn, argument }) => {
  const { deadLetters } = turn.env;
  const { chat, texts } = turn;
  const chosen = turn.merge.retries ?? (await deadLetters.newest(chat, argument === '' ? undefined : argument));
  if (chosen === undefined) return replied('retry', texts.nothingToRetry);
  await turn.write('', [turn.merge.retry(chosen)]);
  await deadLetters.replay(chosen);
  return replied('retry', texts.retrying);
};

/** `/retry`, and its button under a message that failed. */
export const againFeature: Feature = {
  name: 'again',
  commands: { retry },
  async beforeConclude(turn, conclusion) {
    const hasFailed = conclusion.outcome === 'failed' && conclusion.parts.length > 0 && conclusion.into === undefined;
    if (turn.isElsewhere || !hasFailed) return conclusion;
    const button = { text: turn.texts.retryButton, command: `/retry ${turn.entry}` };
    return { ...conclusion, buttons: [...(conclusion.buttons ?? []), [button]] };
  },
};
