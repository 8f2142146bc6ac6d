import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
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
import fc from 'fast-check';
import { type Declared, declared } from './globals.ts';

const GLOBALS = pathToFileURL(join(import.meta.dirname, 'globals.ts')).href;
/** Properties draw the same cases for each mutant, and are not shrunk: only whether they fail counts. */
const DRAWN = { seed: 1, endOnFailure: true };

/** Where the code that Stryker prepared looks for the mutant that is active, and notes what ran. */
const context: InstrumenterContext = {};
Object.assign(globalThis, { [INSTRUMENTER_CONSTANTS.NAMESPACE]: context });

/**
 * Runs suites of pure rooms as Node does, without Jest: modules are loaded once for all mutants of a process, so that a
 * mutant takes milliseconds. One that takes effect while modules are loaded gets a process of its own.
 */
class PureSuites implements TestRunner {
  static readonly inject = tokens(commonTokens.options);
  readonly #suites: readonly string[];
  #tests: Promise<Map<string, Declared>> | undefined;

  constructor(options: StrykerOptions) {
    this.#suites = options.suites as string[];
    fc.configureGlobal(DRAWN);
    registerHooks({
      resolve: (name, given, next) =>
        name === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(name, given),
    });
  }

  capabilities() {
    return { reloadEnvironment: false };
  }

  async dryRun(_options: DryRunOptions): Promise<DryRunResult> {
    const tests: TestResult[] = [];
    for (const [id, test] of await this.#load()) {
      context.currentTestId = id;
      const startedMs = performance.now();
      const problem = await problemOf(test);
      const measured = { id, name: id, timeSpentMs: performance.now() - startedMs };
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
    const { activeMutant, mutantActivation, hitLimit, testFilter } = options;
    if (mutantActivation === 'static') context.activeMutant = activeMutant.id;
    let tests: Map<string, Declared>;
    try {
      tests = await this.#load();
    } catch (error) {
      return { status: MutantRunStatus.Killed, killedBy: [], failureMessage: `not loaded: ${error}`, nrOfTests: 0 };
    }
    Object.assign(context, {
      activeMutant: activeMutant.id,
      hitLimit,
      hitCount: hitLimit === undefined ? undefined : 0,
    });
    const wanted = [...(testFilter ?? tests.keys())];
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
    for (const [at, test] of declared.slice(before).entries()) tests.set(`${suite} ${at} ${test.name}`, test);
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
