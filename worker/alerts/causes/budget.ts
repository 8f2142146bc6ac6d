import { type LimitUsage, percentOf, spentInWords } from '../../../shared/state/spending/limit.ts';
import type { Condition, Rules } from './words.ts';

/** Causes about the budgets for all chats. */
export const BUDGET = {
  budget: {
    severity: 'info',
    title: 'The budget for all chats is half used up',
    todo: 'If half of the budget should have lasted longer, raise it and restart. Once the budget is used up, every message is refused.',
    endsBy: 'watch',
    end: 'a new period began, or the budget was raised.',
    follows: ['over-budget'],
    levels: { '80 %': { title: 'The budget for all chats is nearly used up' } },
  },
  'over-budget': {
    severity: 'attention',
    title: 'Every message is refused: the budget for all chats is used up',
    todo: 'Raise the budget and restart, or wait until then.',
    endsBy: 'watch',
    end: 'a new period began, or the budget was raised.',
  },
} satisfies Rules;

/** Shares of a budget, in percent, at which the operator is notified; each share is a level. */
const BUDGET_LEVELS = [
  { from: 80, words: 'nearly used up' },
  { from: 50, words: 'half used up' },
];

/** The conditions for a budget of all chats: none below half of the budget, two if the budget is used up, otherwise one. */
export function budgetConditions(spent: LimitUsage): Condition[] {
  const { limit, isUsedUp, againMs } = spent;
  const percent = percentOf(spent);
  const level = BUDGET_LEVELS.find(({ from }) => percent >= from || isUsedUp);
  if (level === undefined) return [];
  const name = `The ${limit.period === 'day' ? 'daily' : 'monthly'} budget for all chats (${limit.setting})`;
  const share = `${percent} %, ${spentInWords(spent)}`;
  const until = `until ${new Date(againMs).toISOString().slice(0, 10)}, 00:00 UTC`;
  const about = { key: limit.setting, level: `${level.from} %` };
  const warning: Condition = { ...about, cause: 'budget', text: `${name} is ${level.words}: ${share}.` };
  if (!isUsedUp) return [warning];
  const text = `${name} is used up: ${share}. Messages are refused ${until}.`;
  return [warning, { cause: 'over-budget', key: limit.setting, text }];
}
