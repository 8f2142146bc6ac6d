/** What is known of a model by its name alone; what its endpoint says goes before it. */

interface Family {
  prefix: string;
  windowTokens: number;
  /** How many tokens its tokenizer makes where the older ones make one. */
  tokenizerFactor: number;
  /** Whether it refuses its own thinking once an earlier part of the conversation has changed. */
  bindsThinking: boolean;
}

const UNKNOWN: Family = { prefix: '', windowTokens: 200_000, tokenizerFactor: 1, bindsThinking: false };
const OLD = { windowTokens: 200_000, tokenizerFactor: 1, bindsThinking: false };
const LONG = { ...OLD, windowTokens: 1_000_000 };

/** The first prefix that fits wins. */
const FAMILIES: readonly Family[] = [
  { prefix: 'claude-haiku-4', ...OLD },
  { prefix: 'claude-sonnet-4-5', ...OLD },
  { prefix: 'claude-opus-4-5', ...OLD },
  { prefix: 'claude-sonnet-4', ...LONG },
  { prefix: 'claude-opus-4-6', ...LONG },
  ...['fable', 'mythos', 'opus', 'sonnet', 'haiku'].map((name) => ({
    prefix: `claude-${name}-5`,
    windowTokens: 1_000_000,
    tokenizerFactor: 1.35,
    bindsThinking: true,
  })),
  { prefix: 'claude-', windowTokens: 1_000_000, tokenizerFactor: 1.35, bindsThinking: false },
];

function familyOf(model: string): Family {
  return FAMILIES.find(({ prefix }) => model.startsWith(prefix)) ?? UNKNOWN;
}

/** The context window, for endpoints that do not state it. */
export function windowTokensOf(model: string): number {
  return familyOf(model).windowTokens;
}

/** What an uncalibrated estimate is multiplied with for a model that was never asked before. */
export function tokenizerFactor(model: string): number {
  return familyOf(model).tokenizerFactor;
}

/** Whether thinking is bound to what came before it: then no earlier part may change without its thinking being left out. */
export function bindsThinking(model: string): boolean {
  return familyOf(model).bindsThinking;
}
