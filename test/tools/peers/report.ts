import type { Checked } from './check.ts';
import { LITELLM, MCP_SERVERS } from './versions.ts';

/** A run of all checks. */
export interface PeersRun {
  checked: readonly Checked[];
  /** What could not be brought, in words. */
  missing: readonly string[];
  startedMs: number;
  endedMs: number;
}

/** One check in a line of a terminal. */
export function lineOf({ verdict, name, seen }: Checked): string {
  return `${verdict.padEnd(8)} ${name}\n         ${seen}`;
}

/** What a run came to, in one line. */
export function summaryOf({ checked }: PeersRun): string {
  const count = (verdict: Checked['verdict']): number => checked.filter((each) => each.verdict === verdict).length;
  return `${count('ok')} of ${checked.length} checks hold, ${count('DIFFERS')} differ, ${count('not run')} were not run.`;
}

/** The report as Markdown. Pure; names no machine. */
export function peersReport(run: PeersRun): string {
  const { checked, missing, startedMs, endedMs } = run;
  const software = [LITELLM, ...Object.entries(MCP_SERVERS).map(([name, version]) => `${name} ${version}`)];
  return [
    '# Real parts that nobody here wrote',
    '',
    `Written by \`npm run verify:peers\` on ${new Date(startedMs).toISOString().slice(0, 10)}: ${((endedMs - startedMs) / 60_000).toFixed(1)} minutes, without bringing the software. What is shown and how is in docs/testing.md.`,
    '',
    `**${summaryOf(run)}** ${missing.join(' ')}`.trim(),
    '',
    `Software: ${software.join(', ')}.`,
    '',
    '| | check | what was seen |',
    '|---|---|---|',
    ...checked.map(({ verdict, name, seen }) => `| ${[verdict, name, seen].map(cell).join(' | ')} |`),
    '',
  ].join('\n');
}

const cell = (text: string): string => text.replaceAll('|', '/');
