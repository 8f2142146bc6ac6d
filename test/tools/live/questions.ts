import type { Block } from '../../../worker/model/block.ts';
import type { MessageParam } from '../../../worker/model/port.ts';
import type { Toolbox } from '../../../worker/tools/toolbox.ts';
import { ask, type ChatHistory } from '../../fixture/chat-history.ts';
import { type Chat, chatOf, KINDS, type Question, type QuestionKind } from '../score/chat.ts';
import { CHINESE } from '../score/chinese.ts';
import { ENGLISH } from '../score/english.ts';
import { isAnswerable } from '../score/reader.ts';
import { freshWindow, messagesOf, withNotes } from '../score/shown.ts';
import type { AtMost } from './expectation.ts';
import type { Line } from './line.ts';
import { user } from './talk-expectations.ts';

/** What a model said to a question about a long chat; nothing where it went on calling the tool. */
export interface Answered {
  kind: QuestionKind;
  asks: string;
  says: string;
  isRight: boolean;
}

const SEED = 1;
/** Little of the chat opens the session, so that most is to be searched for, and a call costs little. */
const SEED_TOKENS = 1_500;
/** Of the five questions of a kind: from an English chat as many of one kind as from a Chinese one of the next. */
const OF_A_KIND = [3, 2];
const CALLS_OF_A_QUESTION = 3;
const ANSWER_TOKENS = 1_000;
const CALL_TOKENS = 7_000;
const UNKNOWN = 'UNKNOWN';
const SYSTEM = `You are the assistant of a private chat. Answer from the chat, from your notes and from what the tool "recall" finds; where a search finds nothing of use, try other words. Of what changed the newest holds. Answer with the name, place, number or thing alone, a day as YYYY-MM-DD. Where the person never told it of themselves, answer ${UNKNOWN}.`;

const PICKED = KINDS.flatMap((kind, at) =>
  [ENGLISH, CHINESE].map((language, which) => ({ kind, language, count: OF_A_KIND[(at + which) % 2] ?? 0 })),
);
const QUESTIONS = PICKED.reduce((sum, { count }) => sum + count, 0);

/** What all of them take at most. */
export const QUESTIONS_AT_MOST: AtMost = {
  calls: QUESTIONS * CALLS_OF_A_QUESTION,
  inputTokens: QUESTIONS * CALLS_OF_A_QUESTION * CALL_TOKENS,
  outputTokens: QUESTIONS * CALLS_OF_A_QUESTION * ANSWER_TOKENS,
};

/**
 * Asks 20 questions of `npm run score` in fresh sessions, with the notes of the memory and the tool `recall`, which the
 * model may call twice. Rejects as soon as a call is not answered.
 */
export async function askQuestions(line: Line, history: ChatHistory): Promise<Answered[]> {
  const recall = history.recall();
  const answered: Answered[] = [];
  for (const language of [ENGLISH, CHINESE]) {
    const chat = chatOf(language, SEED);
    const { window, session } = await freshWindow(history, chat.records, language.name, SEED_TOKENS);
    const search = async (query: string) => (await ask(recall, { query }, session)).text;
    for (const question of picked(chat, language.name)) {
      const says = await answerOf(line, recall, search, {
        system: withNotes(SYSTEM, chat),
        messages: messagesOf(window, question),
      });
      const { kind, asks } = question;
      answered.push({ kind, asks, says, isRight: isRight(question, says) });
    }
  }
  return answered;
}

function picked({ questions }: Chat, name: string): Question[] {
  const own = PICKED.filter(({ language }) => language.name === name);
  return own.flatMap(({ kind, count }) => questions.filter((question) => question.kind === kind).slice(0, count));
}

/** By the reader of the score; of what was never said, the answer must also say that it is not known. Pure. */
export function isRight(question: Question, says: string): boolean {
  const isHonest = question.kind !== 'never said' || says.includes(UNKNOWN);
  return isHonest && isAnswerable(question, `${question.about}: ${says.replaceAll(/\s+/g, ' ')}`);
}

async function answerOf(
  line: Line,
  recall: Toolbox,
  search: (query: string) => Promise<string>,
  { system, messages }: { system: string; messages: readonly MessageParam[] },
): Promise<string> {
  let said = [...messages];
  for (let call = 0; call < CALLS_OF_A_QUESTION; call++) {
    const request = { system, tools: recall.specs(), messages: said, maxTokens: ANSWER_TOKENS };
    const { answer } = await line.answer(request);
    const calls = answer.content.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return answer.text;
    const results = await Promise.all(calls.map((each) => resultOf(each, search)));
    said = [...said, { role: 'assistant', content: answer.content } as unknown as MessageParam, user(results)];
  }
  return '';
}

async function resultOf({ id, input }: Block, search: (query: string) => Promise<string>): Promise<Block> {
  const { query } = (input ?? {}) as { query?: unknown };
  return { type: 'tool_result', tool_use_id: id, content: await search(String(query ?? '')) };
}

/** How many of each kind were right, a line each. Pure. */
export function countsOf(answered: readonly Answered[]): string[] {
  return KINDS.map((kind) => {
    const own = answered.filter((each) => each.kind === kind);
    return `${kind.padEnd(14)}${own.filter((each) => each.isRight).length} of ${own.length} right`;
  });
}
