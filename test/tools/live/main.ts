import { readSettings } from '../../../shared/base/settings.ts';
import { createChatHistory } from '../../fixture/chat-history.ts';
import { findRedis, Refusal, runTool, say, type Values } from '../tool.ts';
import { boundOf, type Expectation, InTrouble, type Judged, judgeAll } from './expectation.ts';
import { EXPECTATIONS } from './expectations.ts';
import { type Endpoint, type Line, openLine } from './line.ts';
import { askQuestions, countsOf, QUESTIONS_AT_MOST } from './questions.ts';

const HELP = `Usage: npm run live [-- --overflow]

Asks a real endpoint of the Messages API, through the gateway's own adapter, whether it is as we believe. Takes
ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and MODEL from the environment. Says first how many calls it makes and what they can
cost at most; then makes them. npm test asks the stand-in the same. At the end it asks 20 questions of npm run score about
two long chats, with the tool recall, and says how many were answered rightly; that changes no exit code.

  --overflow   also sends a prompt that is longer than the window; a refusal is free, but the upload takes its time, and
               the bound is what it would cost if it were answered

Exit codes: 0 all as believed, 1 something differs or could not be asked, 2 no key, or a mistake in the environment.`;

const SAID_CHARS = 80;
const OPTIONS = { overflow: { type: 'boolean', default: false } } as const;

await runTool(HELP, OPTIONS, async (chosen) => {
  const reading = readSettings(process.env, 'tool');
  if (!reading.ok) throw new Refusal(reading.problems.join('\n'));
  const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseURL, MODEL: model } = reading.settings;
  if (apiKey === '') throw new Refusal('ANTHROPIC_API_KEY is not set, so there is no endpoint to be asked.');
  await look({ apiKey, baseURL, model }, chosen);
});

async function look(endpoint: Endpoint, values: Values<typeof OPTIONS>): Promise<void> {
  const line = await openLine(endpoint);
  try {
    const chosen = EXPECTATIONS.filter(({ option }) => option === undefined || values[option] === true);
    await announce(line, chosen);
    const judged = await judgeAll(chosen, line, (each) => say(lineOf(each)));
    await question(line);
    conclude(line, judged);
  } finally {
    await line.close();
  }
}

async function announce(line: Line, chosen: readonly Expectation[]): Promise<void> {
  const questions = { atMost: () => QUESTIONS_AT_MOST };
  const { calls, usd } = boundOf([...chosen, questions], line.model, await line.limits());
  say(`${calls} calls of ${line.model}. They cost at most ${dollars(usd)}.\n`);
}

/** What a long chat told, asked of the model. A private Redis holds the chats. */
async function question(line: Line): Promise<void> {
  const { calls, inputTokens } = QUESTIONS_AT_MOST;
  say(`\nQuestions about two long chats, in at most ${calls} calls of ${inputTokens} tokens in all:`);
  try {
    await findRedis();
  } catch (error) {
    if (error instanceof Refusal) return say(`not asked: ${error.message}`);
    throw error;
  }
  const history = await createChatHistory();
  try {
    const answered = await askQuestions(line, history);
    for (const { kind, asks, says, isRight } of answered)
      say(`${isRight ? 'right' : 'wrong'}    ${kind}: ${asks} ${says.replaceAll(/\s+/g, ' ').slice(0, SAID_CHARS)}`);
    for (const count of countsOf(answered)) say(count);
  } catch (error) {
    say(error instanceof InTrouble ? error.message : `not answered: ${error instanceof Error ? error.message : error}`);
  } finally {
    await history.close();
  }
}

function conclude(line: Line, judged: readonly Judged[]): void {
  const { calls, inputTokens, outputTokens, usd } = line.spent();
  const count = (verdict: Judged['verdict']): number => judged.filter((each) => each.verdict === verdict).length;
  say(`\n${count('ok')} as believed, ${count('differs')} differ, ${count('not run')} not run.`);
  say(`${calls} answered calls took ${inputTokens} tokens and gave ${outputTokens}. They cost ${dollars(usd)}.`);
  process.exitCode = judged.every(({ isProven }) => isProven) ? 0 : 1;
}

function lineOf({ verdict, name, seen }: Judged): string {
  return `${verdict.padEnd(8)} ${name}\n         ${seen}`;
}

function dollars(usd: number | undefined): string {
  return usd === undefined
    ? 'an amount that is not known: the model has no price in our list'
    : `${usd.toFixed(4)} US dollars`;
}
