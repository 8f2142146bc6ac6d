import type { Config } from '../../shared/base/config.ts';

/** Where a model is in its life, as its endpoint states it. */
export interface Lifecycle {
  /** A deprecated model answers, and is to be retired; a retired one does not answer any more. */
  stage: (typeof STAGES)[number];
  /** When it is to be retired, in ms since the epoch; absent where no date is stated. May have passed. */
  retiresAtMs?: number;
}

const STAGES = ['active', 'deprecated', 'retired'] as const;
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
export type ModelSettings = Pick<Config, 'MODEL' | 'FALLBACK_MODEL' | 'COMPACTION_MODEL' | 'MODELS'>;

/** The models that the configuration names. */
export function modelsInUse({ MODEL, FALLBACK_MODEL, COMPACTION_MODEL, MODELS }: ModelSettings): ModelsInUse {
  const named = Object.entries({ MODEL, FALLBACK_MODEL, COMPACTION_MODEL, MODELS }).flatMap(([setting, names]) =>
    [names ?? []].flat().map((name) => ({ setting, name })),
  );
  return new Map(
    named.map(({ name }) => [name, named.filter((each) => each.name === name).map(({ setting }) => setting)]),
  );
}
