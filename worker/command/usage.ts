import { percentOf, spentInWords } from '../../shared/state/spending/limit.ts';
import type { Used } from '../../shared/state/spending/usage-book.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import { payerOf } from '../lane/attempt.ts';
import { type CommandHandler, replied } from './command.ts';
import { inDollars, inThousands } from './words.ts';

const PERIODS = [
  ['today', 1],
  ['week', 7],
  ['month', 30],
] as const;

/** `/usage`: what the calls for this chat were, what they cost, and how much that is of its limits and its sender's. */
export const usage: CommandHandler = async ({ usageBook, ask }, { attempt }) => {
  const { chat, texts } = attempt;
  const days = await usageBook.ofDays(chat, 30, attempt.nowMs());
  const sums = PERIODS.map(([period, length]) => lineOf(texts, period, sumOf(days.slice(0, length))));
  const spent = (await ask.endpoint.budget?.spentBy(payerOf(attempt))) ?? [];
  const limits = spent.map((each) =>
    texts.budget.line(each.limit.whose, each.limit.period, spentInWords(each), percentOf(each)),
  );
  const { unpricedCalls } = sumOf(days);
  const notes = [...(unpricedCalls > 0 ? [texts.usage.unpriced] : []), texts.usage.day];
  return replied('usage', [texts.usage.title, ...sums, '', ...limits, ...notes].join('\n'));
};

function lineOf({ usage }: Texts, period: (typeof PERIODS)[number][0], used: Used): string {
  const { calls, inputTokens, outputTokens, dollars } = used;
  return usage.line(
    usage[period],
    ...([calls, inputTokens, outputTokens].map(inThousands) as Three),
    inDollars(dollars),
  );
}

type Three = [string, string, string];

function sumOf(days: readonly Used[]): Used {
  const sum = { calls: 0, inputTokens: 0, outputTokens: 0, dollars: 0, unpricedCalls: 0 };
  for (const day of days) for (const key of Object.keys(sum) as (keyof Used)[]) sum[key] += day[key];
  return sum;
}
