import { type Checked, oneLine } from './check.ts';
import { type PlayedHour, silentIn } from './day.ts';
import type { Found } from './operator.ts';
import type { AskedPanel } from './query.ts';
import { failedRules, type RuleVerdict } from './rule-verdict.ts';
import { FASTER } from './shorter.ts';
import { missingTools, type Tools } from './tool.ts';

/** All that a run came to. What could not be run is empty. */
export interface Verified {
  startedMs: number;
  endedMs: number;
  tools: Tools;
  files: readonly Checked[];
  hours: readonly PlayedHour[];
  rules: readonly RuleVerdict[];
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

/** The report as Markdown. Pure; names no machine. */
export function telemetryReport(run: Verified): string {
  const minutes = ((run.endedMs - run.startedMs) / 60_000).toFixed(1);
  const lines = [
    '# The telemetry stack, run for real',
    '',
    `Written by \`npm run verify:telemetry\` on ${new Date(run.startedMs).toISOString().slice(0, 10)}: ${minutes} minutes. What it does is in docs/telemetry.md.`,
    '',
    `**${summaryOf(run)}**`,
    '',
    `Software: ${softwareOf(run.tools)}. Telegram and Claude are the strict stand-ins; two gateway processes and Redis are real.`,
    '',
    `Times are ${FASTER} times shorter than in production, in the rules (\`for\`, ranges, limits of age), in the intervals of scraping, evaluation and export, and in what the gateway waits for. Counts and shares are as they are. "10 s" is an outage of three minutes.`,
    '',
    ...section(
      'Not as it must be',
      findingsOf(run).map((line) => `- ${line}`),
    ),
    ...section(
      'What could not be run',
      notRunLines(run).map((line) => `- ${line}`),
    ),
    ...section('The day', dayTable(run)),
    ...section('The rules', rulesTable(run)),
    ...section('Panels with an expression without data', panelsTable(run)),
    ...section('Files, traces, labels', checksTable([...run.files, ...run.checks])),
    ...section('Five incidents at night', foundTable(run.found)),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines, ''];
}

function softwareOf(tools: Tools): string {
  const named = Object.values(tools).map(({ name, version }) => `${name} ${version}`);
  return named.length === 0 ? 'none was found' : named.join(', ');
}

function dayTable({ hours }: Verified): string[] {
  if (hours.length === 0) return [];
  const rows = hours.map((hour, index) => {
    const fired = hour.fires.filter((name) => hour.seen.has(name));
    const silent = silentIn(hour).map((name) => `SILENT: ${name}`);
    return row(index + 1, hour.name, seconds(hour.toMs - hour.fromMs), [...fired, ...silent].join(', ') || 'none need');
  });
  return ['| | trouble | lasted | rules that fired |', '|---|---|---|---|', ...rows];
}

function rulesTable({ rules }: Verified): string[] {
  if (rules.length === 0) return [];
  const rows = rules.map(({ name, health, firedAfterS, firingS }) =>
    row(name, firedAfterS === undefined ? 'never' : `${firedAfterS.toFixed(0)} s`, `${firingS} s`, health),
  );
  return ['| rule | fired after | fired for | health |', '|---|---|---|---|', ...rows];
}

/** The panels of which an expression returned no data; the others are counted in the summary. */
function panelsTable({ panels }: Verified): string[] {
  const rows = panels
    .filter(({ asked }) => asked.some(({ verdict }) => verdict !== 'data'))
    .map(({ panel, asked }) => {
      const verdicts = [...new Set(asked.map(({ verdict, why }) => (why ? `${verdict}: ${why}` : verdict)))];
      return row(panel.board, panel.title, asked.length, verdicts.join('; '));
    });
  return rows.length === 0 ? [] : ['| dashboard | panel | expressions | |', '|---|---|---|---|', ...rows];
}

function checksTable(checks: readonly Checked[]): string[] {
  if (checks.length === 0) return [];
  return [
    '| | check | what was seen |',
    '|---|---|---|',
    ...checks.map((each) => row(each.verdict, each.name, each.seen)),
  ];
}

const OPERATOR =
  'The operator is a script: it gets the alert, reads the section of the runbook that the alert links to, runs the commands of the triage and of that section that only look, and opens the pages of the console. It has neither logs, dashboards nor Redis. "Found" is the first command or page that names the cause; a person reads slower than a script.';

function foundTable(found: readonly Found[]): string[] {
  if (found.length === 0) return [];
  const rows = found.map((each) => {
    const naming = each.looks.filter(({ namesCause }) => namesCause).map(({ at }) => code(at));
    return row(
      each.name,
      `${seconds(each.alertAfterMs)}, ${each.by}`,
      each.alertNamesCause ? 'yes' : 'no',
      each.heading,
      each.foundAt === undefined ? `NOT FOUND ${each.problem ?? ''}` : code(each.foundAt),
      each.foundMs === undefined ? '' : `${(each.foundMs / 1_000).toFixed(1)} s`,
      `${naming.length} of ${each.looks.length}: ${naming.join(', ')}`,
    );
  });
  return [
    OPERATOR,
    '',
    '| incident | alert after, by | alert names the cause | section | found at | time from the alert | what names the cause |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ];
}

/** Names in commands are those of one run. */
function code(at: string): string {
  return `\`${at.replace(/\b(?:\d{13}-\d+|[0-9a-f]{32})\b/, '<id>')}\``;
}

function unwell(panels: readonly AskedPanel[]) {
  return panels.flatMap(({ panel, asked }) =>
    asked
      .filter(({ verdict }) => verdict === 'EMPTY' || verdict === 'ERROR')
      .map(({ expr, why }) => ({ title: panel.title, expr, why })),
  );
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(0)} s`;

function row(...cells: (string | number)[]): string {
  return `| ${cells.map((cell) => String(cell).replaceAll('|', '/').replaceAll('\n', ' ')).join(' | ')} |`;
}
