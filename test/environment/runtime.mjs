import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import Runtime from 'jest-runtime';
import about from 'jest-runtime/package.json' with { type: 'json' };

/** The one whose parts are named below. Another version may keep something of a suite where nobody looks. */
const KNOWN_VERSION = '30.5.2';

if (about.version !== KNOWN_VERSION) {
  throw new Error(
    `test/environment/runtime.mjs knows jest-runtime ${KNOWN_VERSION}, and this is ${about.version}: see what its ` +
      'class Runtime keeps of a suite, and whether `teardown` there forgets it, before you change KNOWN_VERSION.',
  );
}

/** The runtime of this worker, and of its files: watch mode begins with others. */
let kept;

/**
 * Stands for the class of which Jest makes a runtime for each suite. All suites of a worker get the same one, which
 * forgets what is a suite's own: to load the product anew took a quarter of a suite's time.
 */
export default function RuntimeOfSuite(...given) {
  const [, , resolver, , , , testPath] = given;
  if (kept?.resolver !== resolver) kept = { resolver, runtime: new RuntimeOfWorker(...given) };
  kept.runtime.begin(testPath);
  return kept.runtime;
}

/**
 * Keeps the modules of packages, of the product and of the stand-ins, which no test mocks and which keep nothing of a
 * suite. Each suite loads those of the tests anew.
 */
class RuntimeOfWorker extends Runtime {
  /** How the names begin under which the modules of tests are kept: paths, addresses, and one that Jest makes up. */
  #ofTests;
  #ofStandIns;

  constructor(...given) {
    super(...given);
    const tests = join(given[0].rootDir, 'test', sep);
    const standIns = join(tests, 'stand-in', sep);
    this.#ofTests = [tests, pathToFileURL(tests).href, '@jest/globals/'];
    this.#ofStandIns = [standIns, pathToFileURL(standIns).href];
  }

  begin(testPath) {
    this._testPath = testPath;
    this.esmLoader.testPath = testPath;
    this.executor.testPath = testPath;
    this.testState.state = 'loading';
  }

  teardown() {
    this.restoreAllMocks();
    const { esModuleRegistry, moduleRegistry, internalModuleRegistry } = this.registries;
    for (const registry of [esModuleRegistry, moduleRegistry, internalModuleRegistry]) {
      for (const name of registry.keys()) if (this.#isOfSuite(name)) registry.delete(name);
    }
    this.testMainModule.reset();
    this.jestGlobals.clearJestObjectCache();
    this.loggedReferenceErrors.clear();
    this.testState.teardown();
  }

  /** Of Jest's own modules, these know which suite runs. */
  #isOfSuite(name) {
    const isIn = (places) => places.some((start) => name.startsWith(start));
    if (isIn(this.#ofStandIns)) return false;
    return isIn(this.#ofTests) || name.includes(join(sep, 'jest-circus', sep));
  }
}
