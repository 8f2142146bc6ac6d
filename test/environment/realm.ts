import { constants, createContext, runInContext } from 'node:vm';
import type { EnvironmentContext, JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { type LegacyFakeTimers, ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { installCommonGlobals } from 'jest-util';
import { keepGlobals } from './globals.ts';

type Timer = { id: number; ref(): Timer; unref(): Timer };

/** What a suite must share with Node: its buffers are made of these, whoever asks. */
const SHARED = ['Buffer', 'ArrayBuffer', 'Uint8Array'];
const STACK_LINES = 100;

/** Made by the first suite of a worker. */
let realm: Realm | undefined;

/** The realm of this worker, as it was before the last suite. Jest calls this as a class, for each suite. */
export default function RealmOfWorker(given: JestEnvironmentConfig, _context: EnvironmentContext): Realm {
  realm ??= new Realm(given);
  realm.restore();
  return realm;
}

/**
 * A realm apart from Node's, as Jest's own environment has, but an ordinary one. Jest puts an object with traps in the
 * place of the global object, and each look at `JSON`, `Promise` or `process` then takes ten times as long.
 *
 * All suites of a worker have the same one, since it holds the modules that `runtime.mjs` keeps.
 */
class Realm implements JestEnvironment<Timer> {
  global: JestEnvironment['global'];
  moduleMocker: ModuleMocker;
  fakeTimers: LegacyFakeTimers<Timer> | null = null;
  fakeTimersModern: ModernFakeTimers;
  /** Takes back what suites did to the global object and to `process`. */
  readonly restore: () => void;
  readonly #context = createContext(constants.DONT_CONTEXTIFY);

  constructor({ projectConfig }: JestEnvironmentConfig) {
    this.global = runInContext('globalThis', this.#context);
    furnish(this.global);
    installCommonGlobals(this.global, projectConfig.globals);
    this.moduleMocker = new ModuleMocker(this.global);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: this.global });
    this.restore = keepGlobals(this.global);
  }

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    this.fakeTimersModern.useRealTimers();
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return this.#context;
  }
}

/** Puts what Node adds to the language into a realm. What is dear to make is made when it is first looked at. */
function furnish(realm: JestEnvironment['global']): void {
  const own = new Set(Object.getOwnPropertyNames(realm));
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    if (own.has(name) || name === 'global') continue;
    Object.defineProperty(realm, name, 'value' in descriptor ? descriptor : lent(name, descriptor.enumerable));
  }
  for (const name of SHARED)
    Object.defineProperty(realm, name, { ...Object.getOwnPropertyDescriptor(globalThis, name) });
  realm.global = realm;
  realm.Error.stackTraceLimit = STACK_LINES;
}

/** Read where it is at each look, so that a realm which was only looked at is as it was. */
function lent(name: string, enumerable = false): PropertyDescriptor {
  return {
    configurable: true,
    enumerable,
    get: () => Reflect.get(globalThis, name),
    set(this: object, value: unknown) {
      Object.defineProperty(this, name, { configurable: true, enumerable, writable: true, value });
    },
  };
}
