/** Plays the suite: scenario after scenario, and the mutants that test the suite itself. */
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import type { Mutant } from './mutant.ts';
import { type Survey, surveyMutant } from './mutant-survey.ts';
import { headLine, resultLine, violationLines } from './report.ts';
import { type Result, runScenario, type Scenario } from './scenario.ts';

/** A scenario with what it came to; without a result when it could not be played. */
export interface Played {
  scenario: Scenario;
  result?: Result;
  /** Why there is no result. */
  problem?: string;
}

/** How the suite is played. */
export interface SuitePlan {
  seed: number;
  /** No scenario begins after this time. */
  untilMs: number;
  /** How long a backlog may take to drain. */
  patienceMs: number;
  /** Told each line as it comes. */
  say: (line: string) => void;
}

const NAME_CHARS = 26;
const LINE_CHARS = 200;

/** Whether it was played, and every invariant held. */
export function holds({ result }: Played): boolean {
  return result?.violations.length === 0;
}

/** Plays one scenario after the other. One that cannot be played says nothing about the product, and does not end the others. */
export async function playAll(
  server: FoundRedisServer,
  scenarios: readonly Scenario[],
  { seed, untilMs, patienceMs, say }: SuitePlan,
): Promise<Played[]> {
  const all: Played[] = [];
  say(`seed ${seed}\n${headLine()}`);
  for (const scenario of scenarios) {
    if (Date.now() > untilMs) {
      say(`${scenario.name.padEnd(NAME_CHARS)} not begun: the time is up`);
      continue;
    }
    const other = await scenario.serverLike?.(server);
    if (typeof other === 'string') {
      say(`${scenario.name.padEnd(NAME_CHARS)} SKIPPED: ${other}`);
      continue;
    }
    const played = await play(server, scenario, seed, patienceMs);
    all.push(played);
    for (const line of linesOf(played)) say(line);
  }
  return all;
}

async function play(server: FoundRedisServer, scenario: Scenario, seed: number, patienceMs: number): Promise<Played> {
  try {
    return { scenario, result: await runScenario(server, scenario, seed, patienceMs) };
  } catch (error) {
    return { scenario, problem: (error as Error).message };
  }
}

function linesOf({ scenario, result, problem }: Played): string[] {
  if (result === undefined) return [`${scenario.name.padEnd(NAME_CHARS)} NOT PLAYED: ${problem}`];
  return [resultLine(result), ...violationLines(result)];
}

/** Tries each mutant. All must be caught. */
export async function surveyAll(
  mutants: readonly Mutant[],
  seed: number,
  say: (line: string) => void,
): Promise<Survey[]> {
  const surveys: Survey[] = [];
  for (const mutant of mutants) {
    const survey = await surveyMutant(mutant, seed);
    surveys.push(survey);
    say(`${survey.isCaught ? 'caught  ' : 'ESCAPED '} ${mutant.name} (${mutant.scenario})`);
    const lines = survey.isCaught ? [caughtBy(survey)] : survey.printed.split('\n');
    for (const line of lines) say(`  ${line.slice(0, LINE_CHARS)}`);
  }
  return surveys;
}

/** The violation that gave a mutant away. */
export function caughtBy({ printed, violates }: Survey): string {
  return (
    printed
      .split('\n')
      .find((line) => line.startsWith(`  ${violates}, `))
      ?.trim() ?? 'nothing'
  );
}
