/** How large the house may be. A figure only goes down, with the work that brings it down. */
export const BUDGETS = {
  productLines: 50_384,
  productFiles: 503,
  testLines: 68_800,
  rawCommands: 0,
  filesWithRawCommands: 0,
  importsMax: 22,
  oneNeighbourFiles: 17,
  portsTypes: 1,
  exportedTypes: 556,
} as const;

/** The same for the way of a plain message, which `npm run test:deep` walks. */
export const WAY_BUDGETS = { messageFiles: 142, messageFunctions: 800 } as const;

/** How many comments and names of the product a newcomer may stumble over (`words.ts`). The aims are 10, 30, 60 and 20. */
export const WORD_BUDGETS = {
  commentsWithWhatFirst: 3,
  commentsWithWhatIs: 5,
  passives: 10,
  participles: 15,
} as const;

/** A fix must not wait for a clean-up: a figure may be above its budget by one percent. */
const ROOM = 1.01;

const SIZE_ADVICE = 'Take out what the change makes needless; npm run house -- --rooms says where the lines are.';
export const WORD_ADVICE =
  'Begin with the thing, say who acts, and name a value by a noun (CONTRIBUTING.md, plain words).';

/** The figures that are above their budgets, each with advice. */
export function overBudget(
  figures: Readonly<Record<string, number>>,
  budgets: Readonly<Record<string, number>>,
  advice = SIZE_ADVICE,
): string[] {
  return Object.entries(budgets).flatMap(([name, most]) => {
    const now = figures[name] ?? Number.POSITIVE_INFINITY;
    if (now <= most * ROOM) return [];
    return `${name}: ${now}, and the budget is ${most}. ${advice}`;
  });
}
