import { type Checked, oneLine } from './check.ts';
import { type PlayedHour, silentIn } from './day.ts';
import type { Found } from './operator.ts';
import type { Rule } from './prometheus.ts';
import type { AskedPanel } from './query.ts';
import { missingTools, type Tools } from './tool.ts';

/** All that a run came to. What could not be run is empty. */
export interface Verified {
  tools: Tools;
  files: readonly Checked[];
  hours: readonly PlayedHour[];
  rules: readonly Rule[];
  panels: readonly AskedPanel[];
  /** Traces, labels, and what Alertmanager was told. */
  checks: readonly Checked[];
  found: readonly Found[];
}

/** What is not as it must be, in one line each. Pure. */
export function findingsOf(run: Verified): string[] {
  return [
    ...[...run.files, ...run.checks]
      .filter(({ verdict }) => verdict === 'DIFFERS')
      .map(({ name, seen }) => `${name}: ${seen}`),
    ...run.hours.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${oneLine(problem)}`])),
    ...failedRules(run.rules, run.hours).map((name) => `the rule ${name} did not fire in its hour`),
    ...unwell(run.panels).map(({ title, expr, why }) => `the panel "${title}" ${why ?? 'is empty'}: ${expr}`),
    ...run.found
      .filter(({ foundAt }) => foundAt === undefined)
      .map(({ name, problem }) => `${name}: ${problem === undefined ? 'nothing named the cause' : oneLine(problem)}`),
  ];
}

/** What a run came to, in one line. Pure. */
export function summaryOf(run: Verified): string {
  const asked = run.panels.flatMap((panel) => panel.asked);
  const count = (verdict: string): number => asked.filter((each) => each.verdict === verdict).length;
  const fired = run.rules.length - failedRules(run.rules, run.hours).length;
  const found = run.found.filter(({ foundAt }) => foundAt !== undefined).length;
  const held = [...run.files, ...run.checks].filter(({ verdict }) => verdict === 'ok').length;
  return [
    `${fired} of ${run.rules.length} rules fired in the trouble that they are for.`,
    `Of ${asked.length} expressions of ${run.panels.length} panels ${count('data')} returned data, ${count('rightly empty')} are rightly empty, ${count('EMPTY') + count('ERROR')} are not as they should be.`,
    `${held} of ${run.files.length + run.checks.length} other checks hold.`,
    `${found} of ${run.found.length} incidents were found.`,
  ].join(' ');
}

/** What could not be run, said plainly. Pure. */
export function notRunLines({ files, checks, tools }: Verified): string[] {
  const skipped = [...files, ...checks].filter(({ verdict }) => verdict === 'not run');
  return [...missingTools(tools), ...skipped.map(({ name, seen }) => `Not run: ${name}, since ${seen}.`)];
}

/** Rules that are in error, that no hour plays, or that stayed silent in one of theirs. */
function failedRules(rules: readonly Rule[], hours: readonly PlayedHour[]): string[] {
  const silent = new Set(hours.flatMap(silentIn));
  const isPlayed = (name: string): boolean => hours.some(({ fires }) => fires.includes(name));
  return rules
    .filter(({ name, health }) => health !== 'ok' || !isPlayed(name) || silent.has(name))
    .map(({ name }) => name);
}

function unwell(panels: readonly AskedPanel[]) {
  return panels.flatMap(({ panel, asked }) =>
    asked
      .filter(({ verdict }) => verdict === 'EMPTY' || verdict === 'ERROR')
      .map(({ expr, why }) => ({ title: panel.title, expr, why })),
  );
}
