import { registerHooks } from 'node:module';
import { join, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { INSTRUMENTER_CONSTANTS, type InstrumenterContext, type StrykerOptions } from '@stryker-mutator/api/core';
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import {
  type DryRunOptions,
  type DryRunResult,
  DryRunStatus,
  determineHitLimitReached,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  TestStatus,
} from '@stryker-mutator/api/test-runner';
import { limit } from './draws.ts';
import { type Declared, declared } from './globals.ts';

const GLOBALS = pathToFileURL(join(import.meta.dirname, 'globals.ts')).href;
/** The copy of the project that Stryker prepared; packages, which it only links, lie elsewhere. */
const OURS = pathToFileURL(process.cwd() + sep).href;
const DRAWS = pathToFileURL(join(import.meta.dirname, 'draws.ts')).href;
const FAST_CHECK = `data:text/javascript,export { draws as default } from ${JSON.stringify(DRAWS)}`;
/** Tests that run for seconds: by the clock, with hundreds of cases or with 100,000 messages. */
const SLOW = /linear time|within two seconds|that the stand-in finds first|^messages-present |too many messages|5 MB/;

/** Where the code that Stryker prepared looks for the mutant that is active, and notes what ran. */
const context: InstrumenterContext = {};
Object.assign(globalThis, { [INSTRUMENTER_CONSTANTS.NAMESPACE]: context });

/**
 * Runs suites of pure rooms as Node does, without Jest: modules are loaded once for many mutants, so that one takes
 * milliseconds. For one that takes effect while modules are loaded, ours are loaded again.
 */
class PureSuites implements TestRunner {
  static readonly inject = tokens(commonTokens.options);
  readonly #suites: readonly string[];
  readonly #costMs = new Map<string, number>();
  #tests: Promise<Map<string, Declared>> | undefined;
  #generation = 0;

  constructor(options: StrykerOptions) {
    this.#suites = options.suites as string[];
    limit.runs = options.runsMax as number;
    registerHooks({
      resolve: (name, given, next) => {
        if (name === '@jest/globals') return { url: GLOBALS, shortCircuit: true };
        if (name === 'fast-check' && given.parentURL !== DRAWS) return { url: FAST_CHECK, shortCircuit: true };
        const found = next(name, given);
        const isOurs = found.url.startsWith(OURS) && !found.url.includes('/node_modules/') && found.url !== DRAWS;
        return isOurs ? { ...found, url: `${found.url}?generation=${this.#generation}` } : found;
      },
    });
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun(_options: DryRunOptions): Promise<DryRunResult> {
    const tests: TestResult[] = [];
    for (const [id, test] of await this.#load()) {
      context.currentTestId = id;
      const startedMs = performance.now();
      const problem = await problemOf(test);
      const measured = { id, name: id, timeSpentMs: performance.now() - startedMs };
      this.#costMs.set(id, measured.timeSpentMs);
      tests.push(
        problem === undefined
          ? { ...measured, status: TestStatus.Success }
          : { ...measured, status: TestStatus.Failed, failureMessage: problem },
      );
    }
    delete context.currentTestId;
    return {
      status: DryRunStatus.Complete,
      tests,
      mutantCoverage: context.mutantCoverage ?? { static: {}, perTest: {} },
    };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const { activeMutant, mutantActivation, hitLimit, reloadEnvironment, testFilter } = options;
    const isStatic = mutantActivation === 'static';
    // Once without any mutant: what fails to load afterwards fails because of one.
    Object.assign(context, { activeMutant: undefined });
    let tests = await this.#load();
    if (reloadEnvironment || isStatic) {
      Object.assign(context, { activeMutant: isStatic ? activeMutant.id : undefined });
      this.#forget();
      try {
        tests = await this.#load();
      } catch (error) {
        this.#forget();
        return { status: MutantRunStatus.Killed, killedBy: [], failureMessage: `not loaded: ${error}`, nrOfTests: 0 };
      }
    }
    Object.assign(context, {
      activeMutant: activeMutant.id,
      hitLimit,
      hitCount: hitLimit === undefined ? undefined : 0,
    });
    const wanted = this.#cheapestFirst(testFilter ?? tests.keys());
    for (const [at, id] of wanted.entries()) {
      const test = tests.get(id);
      const failureMessage = test === undefined ? 'not declared' : await problemOf(test);
      const endless = determineHitLimitReached(context.hitCount, context.hitLimit);
      if (endless) return { status: MutantRunStatus.Timeout };
      if (failureMessage !== undefined)
        return { status: MutantRunStatus.Killed, killedBy: [id], failureMessage, nrOfTests: at + 1 };
    }
    return { status: MutantRunStatus.Survived, nrOfTests: wanted.length };
  }

  #cheapestFirst(ids: Iterable<string>): string[] {
    return [...ids].sort((a, b) => (this.#costMs.get(a) ?? 0) - (this.#costMs.get(b) ?? 0));
  }

  #forget(): void {
    this.#generation += 1;
    this.#tests = undefined;
  }

  /** Tests by a name that no other one has. */
  #load(): Promise<Map<string, Declared>> {
    this.#tests ??= loaded(this.#suites);
    return this.#tests;
  }
}

async function loaded(suites: readonly string[]): Promise<Map<string, Declared>> {
  const tests = new Map<string, Declared>();
  for (const suite of suites) {
    const before = declared.length;
    const address = pathToFileURL(resolve(suite)).href;
    await import(address);
    for (const [at, test] of declared.slice(before).entries())
      if (!SLOW.test(test.name)) tests.set(`${suite} ${at} ${test.name}`, test);
  }
  return tests;
}

/** What a test says that it found wrong. */
async function problemOf({ run }: Declared): Promise<string | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Stryker takes its runners from this name. */
export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'pure-suites', PureSuites)];
