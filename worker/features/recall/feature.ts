import { type CommandHandler, replied } from '../../command/command.ts';
import type { Feature } from '../../feature.ts';
import { createChatMemory } from './chat-memory.ts';
import { minute } from './document.ts';
import { createRecall } from './recall.ts';

const QUERY_CHARS_MAX = 1_000;

/** `/recall <words>`: finds messages of the chat that the model no longer sees, for the person who sends the command. */
const recall: CommandHandler = async ({ turn: { env, session, texts, entry }, argument }) => {
  if (argument === '') return replied('recall', texts.recallUsage);
  try {
    const query = argument.slice(0, QUERY_CHARS_MAX);
    const { quotes, isCut, unreadable } = await createChatMemory(env).search(session, query);
    const opening = quotes.length === 0 ? texts.nothingRecalled : texts.recalled(quotes.length);
    const lines = quotes.map(({ atMs, who, text }, place) => `${place + 1}. ${minute(atMs)}, ${who}:\n${text}`);
    const ending = isCut || unreadable > 0 ? [texts.recalledInPart] : [];
    return replied('recall', [opening, ...lines, ...ending].join('\n\n'));
  } catch (error) {
    env.log.warn({ err: error, entry }, 'recall failed');
    return replied('recall', texts.recallFailed);
  }
};

/** Search in the messages of a chat that the model no longer sees: a tool for the model and a command for people. */
export const recallFeature: Feature = {
  name: 'recall',
  commands: { recall },
  tools: (shard) =>
    createRecall(
      createChatMemory(shard),
      async (chat, sha256) => (await shard.media.load(chat, [sha256])).get(sha256),
      shard.log,
    ),
};
