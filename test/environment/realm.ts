import { constants, createContext, runInContext } from 'node:vm';
import type { EnvironmentContext, JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { type LegacyFakeTimers, ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { installCommonGlobals } from 'jest-util';

type Timer = { id: number; ref(): Timer; unref(): Timer };

/** What a suite must share with Node: its buffers are made of these, whoever asks. */
const SHARED = ['Buffer', 'ArrayBuffer', 'Uint8Array'];
const STACK_LINES = 100;

/**
 * Gives each suite a realm of its own, as Jest's own environment does, but an ordinary one. Jest puts an object with
 * traps in the place of the global object, and each look at `JSON`, `Promise` or `process` then takes ten times as long.
 */
export default class Realm implements JestEnvironment<Timer> {
  global: JestEnvironment['global'];
  moduleMocker: ModuleMocker | null;
  fakeTimers: LegacyFakeTimers<Timer> | null = null;
  fakeTimersModern: ModernFakeTimers | null;
  #context: ReturnType<typeof createContext> | null;

  constructor({ projectConfig }: JestEnvironmentConfig, _context: EnvironmentContext) {
    this.#context = createContext(constants.DONT_CONTEXTIFY);
    this.global = runInContext('globalThis', this.#context);
    furnish(this.global);
    installCommonGlobals(this.global, projectConfig.globals);
    this.moduleMocker = new ModuleMocker(this.global);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: this.global });
  }

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    this.fakeTimersModern?.dispose();
    this.fakeTimersModern = null;
    this.#context = null;
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return this.#context;
  }
}

/** Puts what Node adds to the language into a realm; what is dear to make is made when it is first looked at. */
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

function lent(name: string, enumerable = false): PropertyDescriptor {
  const keep = (holder: object, value: unknown): void =>
    void Object.defineProperty(holder, name, { configurable: true, enumerable, writable: true, value });
  return {
    configurable: true,
    enumerable,
    get(this: object) {
      const value: unknown = Reflect.get(globalThis, name);
      keep(this, value);
      return value;
    },
    set(this: object, value: unknown) {
      keep(this, value);
    },
  };
}
