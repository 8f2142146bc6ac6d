import { minute } from '../tools/recall/document.ts';
import { type CommandHandler, replied } from './command.ts';

const QUERY_CHARS_MAX = 1_000;

/** `/recall <words>`: what was said here before the present context, found by words, for the person who asks. */
export const recall: CommandHandler = async ({
  turn: {
    session,
    texts,
    entry,
    env: { recall: index, log },
  },
  words,
}) => {
  if (words === '') return replied('recall', texts.recallUsage);
  try {
    const { quotes, isCut, unreadable } = await index.search(session, words.slice(0, QUERY_CHARS_MAX));
    const opening = quotes.length === 0 ? texts.nothingRecalled : texts.recalled(quotes.length);
    const lines = quotes.map(({ atMs, who, text }, place) => `${place + 1}. ${minute(atMs)}, ${who}:\n${text}`);
    const ending = isCut || unreadable > 0 ? [texts.recalledInPart] : [];
    return replied('recall', [opening, ...lines, ...ending].join('\n\n'));
  } catch (error) {
    log.warn({ err: error, entry }, 'recall failed');
    return replied('recall', texts.recallFailed);
  }
};
