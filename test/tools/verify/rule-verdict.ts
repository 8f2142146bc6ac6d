import { type PlayedHour, silentIn } from './day.ts';
import type { Prometheus, Rule, Span } from './prometheus.ts';

/** What became of a rule in the day. */
export interface RuleVerdict {
  name: string;
  health: string;
  /** The hour in which it had to fire, and how long after the beginning of that hour it did. */
  hour: string | undefined;
  firedAfterS: number | undefined;
  /** For how many seconds of the day it fired. */
  firingS: number;
}

/** Judges every rule by the hours that were played. */
export async function judgeRules(
  hours: readonly PlayedHour[],
  prometheus: Prometheus,
  span: Span,
): Promise<RuleVerdict[]> {
  const rules = await prometheus.rules();
  return Promise.all(rules.map((rule) => judge(rule, hours, prometheus, span)));
}

async function judge(
  { name, health }: Rule,
  hours: readonly PlayedHour[],
  prometheus: Prometheus,
  span: Span,
): Promise<RuleVerdict> {
  const hour = hours.find(({ fires }) => fires.includes(name));
  const firstMs = hour?.seen.get(name);
  const answer = await prometheus.range(`max(ALERTS{alertname="${name}",alertstate="firing"})`, span);
  const points = answer.ok ? (answer.series[0]?.points.length ?? 0) : 0;
  return {
    ...{ name, health, hour: hour?.name, firingS: points * span.stepS },
    firedAfterS: hour && firstMs !== undefined ? (firstMs - hour.fromMs) / 1_000 : undefined,
  };
}

/** Rules that are in error, that no hour plays, or that stayed silent in theirs. Pure. */
export function failedRules(verdicts: readonly RuleVerdict[], hours: readonly PlayedHour[]): string[] {
  const silent = new Set(hours.flatMap(silentIn));
  return verdicts
    .filter(({ name, health, hour }) => health !== 'ok' || hour === undefined || silent.has(name))
    .map(({ name }) => name);
}
