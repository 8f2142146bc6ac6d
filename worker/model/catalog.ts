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
const LONG_WINDOW_TOKENS = 1_000_000;
const LONG = { ...OLD, windowTokens: LONG_WINDOW_TOKENS };
/** Since Opus 4.7 the tokenizer makes up to 35 % more of the same text. */
const DENSE = { ...LONG, tokenizerFactor: 1.35 };

/** The first prefix that fits wins. A name of which nobody knows more than that it is a Claude is a new one. */
const FAMILIES: readonly Family[] = [
  ...['claude-2', 'claude-3', 'claude-instant', 'claude-haiku-4', 'claude-sonnet-4-5', 'claude-opus-4-5'].map(older),
  ...['claude-sonnet-4-0', 'claude-sonnet-4-2025', 'claude-opus-4-0', 'claude-opus-4-1', 'claude-opus-4-2025'].map(
    older,
  ),
  { prefix: 'claude-sonnet-4', ...LONG },
  { prefix: 'claude-opus-4-6', ...LONG },
  { prefix: 'claude-opus-4', ...DENSE },
  { prefix: 'claude-', ...DENSE, bindsThinking: true },
];

/** The notation with which some ask for a window of a million. */
const LONG_MARK = /\[1m\]$/;
/** How providers tell versions and days of one model apart. */
const VERSION = /(?:\[\w+\]|@[\w.-]+|-v\d+(?::\d+\w?)?|:\w+|-latest|-\d{8})$/;

/**
 * A model's own name, without what a provider puts before it (`anthropic/`, `us.anthropic.`, `bedrock/`, an ARN) and
 * behind it (a version, a day), and with `-` in its number: so the same model has one name everywhere. A name that is no
 * Claude's comes back as it is.
 */
export function canonicalName(model: string): string {
  const start = /(?<![a-z0-9])claude-/.exec(model.toLowerCase())?.index;
  if (start === undefined) return model;
  let name = model.slice(start).toLowerCase();
  while (VERSION.test(name)) name = name.replace(VERSION, '');
  return name.replace(/(\d)\.(?=\d)/g, '$1-');
}

/** The context window, for endpoints that do not state it. */
export function windowTokensOf(model: string): number {
  return LONG_MARK.test(model) ? LONG_WINDOW_TOKENS : familyOf(model).windowTokens;
}

/** What an uncalibrated estimate is multiplied with for a model that was never asked before. */
export function tokenizerFactor(model: string): number {
  return familyOf(model).tokenizerFactor;
}

/** Whether thinking is bound to what came before it: then no earlier part may change without its thinking being left out. */
export function bindsThinking(model: string): boolean {
  return familyOf(model).bindsThinking;
}

/** Whether an answer that names `answered` is one of the model that was asked: endpoints name the day, or leave out the provider. */
export function isSameModel(asked: string, answered: string): boolean {
  return canonicalName(answered).startsWith(canonicalName(asked));
}

function older(prefix: string): Family {
  return { prefix, ...OLD };
}

/** Days stay in the name here: what was made in 2025 is told from what came later by them. */
function familyOf(model: string): Family {
  const name = canonicalName(model);
  const day = /-(20\d{6})(?!\d)/.exec(model)?.[0] ?? '';
  return FAMILIES.find(({ prefix }) => `${name}${day}`.startsWith(prefix)) ?? UNKNOWN;
}
