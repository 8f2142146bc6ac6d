import { thousands } from '../../shared/base/text.ts';
import { inDollars, percentOf, spentInWords } from '../../shared/state/spending/limit.ts';
import type { DayUsage, Share } from '../../shared/state/spending/usage-book.ts';
import type { Texts } from '../../shared/texts/language.ts';
import { plainName } from '../ask/message-header.ts';
import { type CommandHandler, replied } from './command.ts';

const PERIODS = [
  ['today', 1],
  ['week', 7],
  ['month', 30],
] as const;
/** How many people of a group get a line of their own. */
const NAMED_MAX = 5;

/**
 * `/usage`: shows the cost and the calls of this chat, the costs per person in a group, and how much of their limits the
 * chat and the sender have used.
 */
export const usage: CommandHandler = async ({ turn }) => {
  const { currentChat, texts } = turn;
  const days = await turn.env.usageBook.ofDays(currentChat, 30, turn.nowMs());
  const sums = PERIODS.map(([period, length]) => lineOf(texts, period, sumOf(days.slice(0, length))));
  const spent = (await turn.env.budget?.spentBy(turn.payer)) ?? [];
  const limits = spent.map((each) =>
    texts.budget.line(each.limit.whose, each.limit.period, spentInWords(each, texts.budget.share), percentOf(each)),
  );
  const { dollars, unpricedCalls } = sumOf(days);
  const notes = [...(unpricedCalls > 0 ? [texts.usage.unpriced] : []), texts.usage.estimated];
  const blocks = [[texts.usage.title, ...sums], personLines(texts, sharesOf(days), dollars), limits, notes];
  return replied('usage', blocks.flatMap((lines) => (lines.length > 0 ? [lines.join('\n')] : [])).join('\n\n'));
};

function lineOf({ usage }: Texts, period: (typeof PERIODS)[number][0], used: Omit<DayUsage, 'shares'>): string {
  const { calls, inputTokens, outputTokens, dollars } = used;
  const counts = [calls, inputTokens, outputTokens].map(thousands) as Three;
  return usage.line(usage[period], inDollars(dollars), ...counts);
}

type Three = [string, string, string];

function sumOf(days: readonly DayUsage[]): Omit<DayUsage, 'shares'> {
  const sum = { calls: 0, inputTokens: 0, outputTokens: 0, dollars: 0, unpricedCalls: 0 };
  for (const day of days) for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += day[key];
  return sum;
}

/** The shares of the days, added up by person, the largest first. Each person has their newest name. */
function sharesOf(days: readonly DayUsage[]): Share[] {
  const all = new Map<string, Share>();
  for (const share of days.flatMap(({ shares }) => shares)) {
    const { name, dollars } = all.get(share.person) ?? { ...share, dollars: 0 };
    all.set(share.person, { ...share, name, dollars: dollars + share.dollars });
  }
  return [...all.values()].sort((one, other) => other.dollars - one.dollars);
}

/** The people of a group with the largest shares, each on a line, and a line for the others. */
function personLines({ usage: text }: Texts, shares: readonly Share[], whole: number): string[] {
  const topShares = shares.filter(({ dollars }) => dollars > 0).slice(0, NAMED_MAX);
  if (topShares.length === 0) return [];
  const rest = whole - topShares.reduce((sum, { dollars }) => sum + dollars, 0);
  const names = shares.map(({ name }) => plainName(name));
  // Two people may have chosen the same name. In that case, their ids tell them apart.
  const nameOf = ({ person, name }: Share) =>
    names.filter((each) => each === plainName(name)).length > 1 ? `${plainName(name)} (id ${person})` : plainName(name);
  const line = (name: string, dollars: number) =>
    text.share(name, inDollars(dollars), Math.round((100 * dollars) / whole));
  // Ignore rounding errors, which are smaller than the cost of any call.
  const others = rest > 1e-9 ? [line(text.others, rest)] : [];
  return [text.persons, ...topShares.map((share) => line(nameOf(share), share.dollars)), ...others];
}
