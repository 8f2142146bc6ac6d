import type { Settings } from '../../shared/base/settings.ts';
import { type Lifecycle, STAGES } from '../../shared/state/provider/provider.ts';

/** The facts that a model's name alone shows; its endpoint's statements take precedence. */

interface Family {
  names: RegExp;
  windowTokens: number;
  /** How many tokens its tokenizer makes where the older ones make one. */
  tokenizerFactor: number;
  /** Whether it refuses its own thinking once an earlier part of the conversation has changed. */
  bindsThinking: boolean;
}

const OLD = { windowTokens: 200_000, tokenizerFactor: 1, bindsThinking: false };
const LONG_WINDOW_TOKENS = 1_000_000;
const LONG = { ...OLD, windowTokens: LONG_WINDOW_TOKENS };
/** Since Opus 4.7 the tokenizer makes up to 35 % more of the same text. */
const DENSE = { ...LONG, tokenizerFactor: 1.35 };

/** The first match wins. A name that is only known to be a Claude is taken for a new model. */
const FAMILIES: readonly Family[] = [
  { names: /^claude-(?:2|3|instant|haiku-4|sonnet-4-(?:0|5|2025)|opus-4-(?:0|1|5|2025))/, ...OLD },
  { names: /^claude-(?:sonnet-4|opus-4-6)/, ...LONG },
  { names: /^claude-opus-4/, ...DENSE },
  { names: /^claude-/, ...DENSE, bindsThinking: true },
];
const UNKNOWN: Family = { names: /^/, ...OLD };

/** The suffix with which some request a window of a million. */
const LONG_MARK = /\[1m\]$/;
/** How providers mark versions and dates of one model. */
const VERSION = /(?:\[\w+\]|@[\w.-]+|-v\d+(?::\d+\w?)?|:\w+|-latest|-\d{8})$/;

/**
 * A model's own name, without what a provider puts before it (`anthropic/`, `us.anthropic.`, `bedrock/`, an ARN) and
 * after it (a version, a date), and with `-` in its number: so the same model has one name everywhere. A name that is
 * not a Claude's is returned unchanged.
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

/** The factor of an uncalibrated estimate for a model that was never asked before. */
export function tokenizerFactor(model: string): number {
  return familyOf(model).tokenizerFactor;
}

/** Whether thinking is bound to what came before it: then a change of an earlier part must omit its thinking. */
export function bindsThinking(model: string): boolean {
  return familyOf(model).bindsThinking;
}

/** Whether the model `answered` is the one that was asked: endpoints add the date, or omit the provider. */
export function isSameModel(asked: string, answered: string): boolean {
  return canonicalName(answered).startsWith(canonicalName(asked));
}

/** The date stays in the name here: it tells models of 2025 apart from later ones. */
function familyOf(model: string): Family {
  const name = canonicalName(model);
  const day = /-(20\d{6})(?!\d)/.exec(model)?.[0] ?? '';
  return FAMILIES.find(({ names }) => names.test(`${name}${day}`)) ?? UNKNOWN;
}
/** No model of this API is older; an earlier date stands for an unknown one. */
const FIRST_YEAR = 2023;
const LAST_YEAR = 2100;

/** Reads what a models endpoint says; `undefined` where it says nothing that makes sense. Accepts anything. */
export function readLifecycle(card: unknown): Lifecycle | undefined {
  const { lifecycle, retires_at: date } = (card ?? {}) as { lifecycle?: unknown; retires_at?: unknown };
  const stage = STAGES.find((each) => each === lifecycle);
  const retiresAtMs = stage === 'active' ? undefined : readDate(date);
  if (stage === undefined && retiresAtMs === undefined) return undefined;
  return { stage: stage ?? 'deprecated', ...(retiresAtMs !== undefined && { retiresAtMs }) };
}

function readDate(date: unknown): number | undefined {
  if (typeof date !== 'string' || !/^\d{4}-\d\d-\d\d/.test(date)) return undefined;
  const ms = Date.parse(date);
  const year = new Date(ms).getUTCFullYear();
  return year >= FIRST_YEAR && year <= LAST_YEAR ? ms : undefined;
}

/** The day on which a model is to be retired, `2027-01-05`. */
export function dayOfRetirement(retiresAtMs: number): string {
  return new Date(retiresAtMs).toISOString().slice(0, 10);
}

/** The models that an installation may ask, each with the settings that name it. */
export type ModelsInUse = ReadonlyMap<string, readonly string[]>;

/** The settings that name models. */
type ModelSettings = Pick<Settings, 'MODEL' | 'FALLBACK_MODEL' | 'COMPACTION_MODEL' | 'MODELS'>;

/** The models that the configuration names. */
export function modelsInUse({ MODEL, FALLBACK_MODEL, COMPACTION_MODEL, MODELS }: ModelSettings): ModelsInUse {
  const named = Object.entries({ MODEL, FALLBACK_MODEL, COMPACTION_MODEL, MODELS })
    .flatMap(([setting, names]) => [names ?? []].flat().map((name) => ({ setting, name })))
    // The others say MODEL where nothing else is named.
    .filter(({ setting, name }) => setting === 'MODEL' || name !== MODEL);
  return new Map(
    named.map(({ name }) => [name, named.filter((each) => each.name === name).map(({ setting }) => setting)]),
  );
}
