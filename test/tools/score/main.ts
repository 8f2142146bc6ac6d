import { createChatHistory } from '../../fixture/chat-history.ts';
import { findRedis, Refusal, runTool, say } from '../tool.ts';
import { chatOf, KINDS } from './chat.ts';
import { CHINESE } from './chinese.ts';
import { ENGLISH } from './english.ts';
import { isAnswerable } from './reader.ts';
import { treated, WAYS } from './shown.ts';
import { type Answered, tableOf } from './table.ts';

const HELP = `Usage: npm run score [-- options]

Generates ten chats of 500 exchanges, asks 200 questions about what was said in them, and prints what part of them could
still be answered from what the model is given (docs/context-management.md). It runs on a private Redis.

  --seed N  the first chat's seed; default 1`;

const CHATS_OF_A_LANGUAGE = 5;
const OPTIONS = { seed: { type: 'string', default: '1' } } as const;

await runTool(HELP, OPTIONS, async (values) => {
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed)) throw new Refusal('--seed is a whole number.');
  await findRedis();
  say(tableOf(await answered(seed)));
});

async function answered(seed: number): Promise<Answered[]> {
  const history = await createChatHistory();
  try {
    const recall = history.recall();
    const all: Answered[] = [];
    for (const language of [ENGLISH, CHINESE])
      for (let n = 0; n < CHATS_OF_A_LANGUAGE; n++) {
        const chat = chatOf(language, seed + n);
        const shownFor = await treated(history, recall, chat, `${language.name}-${n}`);
        for (const question of chat.questions) {
          const shown = await shownFor(question);
          const ways = WAYS.filter((way) => isAnswerable(question, shown[way]));
          all.push({ kind: question.kind, language: language.name, ways });
        }
      }
    return all.sort((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
  } finally {
    await history.close();
  }
}
