import type { Redis } from 'ioredis';
import type { Process } from './process.ts';

type Method = (...args: unknown[]) => Promise<unknown>;

const NO_COMMANDS: ReadonlySet<string> = new Set(['on', 'once', 'off', 'disconnect']);

/**
 * The connection of one process, over one that all share: each command waits for the scheduler. What the product sends
 * is sent to the real server, byte for byte.
 */
export function gatedRedis(shared: Redis, process: Process, isReady?: (command: string) => boolean): Redis {
  const methods = new Map<string | symbol, unknown>();
  const gated = new Proxy(shared, {
    get(target, name) {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value = Reflect.get(target, name) as unknown;
      if (typeof name !== 'string' || typeof value !== 'function') return value;
      const method = methodFor(target, process, name, value as Method, isReady);
      methods.set(name, method);
      return method;
    },
  });
  return gated;
}

function methodFor(
  shared: Redis,
  process: Process,
  name: string,
  method: Method,
  isReady?: (command: string) => boolean,
) {
  if (name === 'defineCommand') return (command: string, given: { lua: string }) => defineOnce(shared, command, given);
  if (NO_COMMANDS.has(name)) return () => undefined;
  const send: Method = (...args) => Reflect.apply(method, shared, args);
  const words = name.replace('spillway:', '');
  return (...args: unknown[]) =>
    process.effect({
      kind: 'redis',
      words,
      // A blocking read only wakes: the server is shared, and must not wait for one of many.
      apply: () => (name === 'xread' ? [] : send(...args)),
      ...(isReady && { isReady: () => isReady(words) }),
    });
}

const defined = new WeakMap<Redis, Map<string, string>>();

/** Binding a script costs a hash of its text; all processes of all schedules bind the same ones. */
function defineOnce(shared: Redis, command: string, given: { lua: string }): void {
  const known = defined.get(shared) ?? new Map<string, string>();
  defined.set(shared, known);
  if (known.get(command) === given.lua) return;
  known.set(command, given.lua);
  shared.defineCommand(command, given);
}
