import type { Settings } from '../../shared/base/settings.ts';
import { type Lifecycle, STAGES } from '../../shared/state/provider/provider.ts';

/** Facts that follow from a model's name. Statements of the model's endpoint take precedence. */

interface Family {
  names: RegExp;
  windowTokens: number;
  /** The number of tokens that the family's tokenizer makes of a text, divided by the number that the older tokenizers make. */
  tokenizerFactor: number;
  /** Whether the model refuses its own thinking after a change of an earlier part of the conversation. */
  bindsThinking: boolean;
}

const OLD = { windowTokens: 200_000, tokenizerFactor: 1, bindsThinking: false };
const LONG_WINDOW_TOKENS = 1_000_000;
const LONG = { ...OLD, windowTokens: LONG_WINDOW_TOKENS };
/** From Opus 4.7 on, the tokenizer makes more tokens of the same text: 35% more at worst. */
const DENSE = { ...LONG, tokenizerFactor: 1.35 };

/** The first match wins. An unknown Claude counts as a new model. */
const FAMILIES: readonly Family[] = [
  { names: /^claude-(?:2|3|instant|haiku-4|sonnet-4-(?:0|5|2025)|opus-4-(?:0|1|5|2025))/, ...OLD },
  { names: /^claude-(?:sonnet-4|opus-4-6)/, ...LONG },
  { names: /^claude-opus-4/, ...DENSE },
  { names: /^claude-/, ...DENSE, bindsThinking: true },
];
const UNKNOWN: Family = { names: /^/, ...OLD };

/** The suffix that requests a window of a million tokens. */
const LONG_MARK = /\[1m\]$/;
/** The suffixes by which providers mark the version or the date of a model. */
const VERSION = /(?:\[\w+\]|@[\w.-]+|-v\d+(?::\d+\w?)?|:\w+|-latest|-\d{8})$/;

/**
 * A model's canonical name: without a provider's prefix (`anthropic/`, `us.anthropic.`, `bedrock/`, an ARN) and suffix (a
 * version, a date), and with `-` instead of `.` in its number. So the same model has one name everywhere. The name of a model
 * other than Claude stays unchanged.
 */
export function canonicalName(model: string): string {
  const start = /(?<![a-z0-9])claude-/.exec(model.toLowerCase())?.index;
  if (start === undefined) return model;
  let name = model.slice(start).toLowerCase();
  while (VERSION.test(name)) name = name.replace(VERSION, '');
  return name.replace(/(\d)\.(?=\d)/g, '$1-');
}

/** The context window of a model according to its name, for endpoints that state no window. */
export function windowTokensOf(model: string): number {
  return LONG_MARK.test(model) ? LONG_WINDOW_TOKENS : familyOf(model).windowTokens;
}

/** The factor that turns our estimates into the tokens of a model, for a chat that has no calibration yet. */
export function tokenizerFactor(model: string): number {
  return familyOf(model).tokenizerFactor;
}

/** Whether a model binds its thinking to the text before the thinking. If so, a change of that text must omit the thinking. */
export function bindsThinking(model: string): boolean {
  return familyOf(model).bindsThinking;
}

/** Whether an answer's model is the requested one. Allows for endpoints that add a date or omit the provider's prefix. */
export function isSameModel(requestModel: string, answerModel: string): boolean {
  return canonicalName(answerModel).startsWith(canonicalName(requestModel));
}

/** The family of a model. The date is added to the canonical name, to distinguish models of 2025 from later models. */
function familyOf(model: string): Family {
  const name = canonicalName(model);
  const day = /-(20\d{6})(?!\d)/.exec(model)?.[0] ?? '';
  return FAMILIES.find(({ names }) => names.test(`${name}${day}`)) ?? UNKNOWN;
}
/** A retirement date before this year or after `LAST_YEAR` is a placeholder, and counts as unknown. */
const FIRST_YEAR = 2023;
const LAST_YEAR = 2100;

/** Reads the lifecycle from the endpoint's description of a model; `undefined` if none is stated. Accepts any value. */
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

/** The day on which a model is to be retired, such as `2027-01-05`. */
export function dayOfRetirement(retiresAtMs: number): string {
  return new Date(retiresAtMs).toISOString().slice(0, 10);
}

/** The models that an installation may call, each with the settings that name it. */
export type ModelsInUse = ReadonlyMap<string, readonly string[]>;

type ModelSettings = Pick<Settings, 'MODEL' | 'FALLBACK_MODEL' | 'COMPACTION_MODEL' | 'MODELS'>;

/** The models that the configuration names. */
export function modelsInUse({ MODEL, FALLBACK_MODEL, COMPACTION_MODEL, MODELS }: ModelSettings): ModelsInUse {
  const entries = Object.entries({ MODEL, FALLBACK_MODEL, COMPACTION_MODEL, MODELS })
    .flatMap(([setting, names]) => [names ?? []].flat().map((name) => ({ setting, name })))
    // Skip the other settings where they only repeat the model of `MODEL`, as some do by default.
    .filter(({ setting, name }) => setting === 'MODEL' || name !== MODEL);
  return new Map(
    entries.map(({ name }) => [name, entries.filter((each) => each.name === name).map(({ setting }) => setting)]),
  );
}
