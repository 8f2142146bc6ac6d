import type { JestEnvironment } from '@jest/environment';

/**
 * Notes the global object of a realm as it is, and the environment of its `process`; the function puts them back. What
 * came later is deleted where it can be: a module that is still loaded and left something global has its own reference.
 */
export function keepGlobals(realm: JestEnvironment['global']): () => void {
  const { process } = realm;
  const { exit } = process;
  const globals = Object.getOwnPropertyDescriptors(realm);
  const env = Object.getOwnPropertyDescriptors(process.env);
  return () => {
    putBack(realm, globals);
    putBack(process.env, env);
    process.exit = exit;
    process.removeAllListeners();
  };
}

/** Leaves alone what is as it was: V8 would compile anew what relies on it. */
function putBack(object: object, before: Record<PropertyKey, PropertyDescriptor>): void {
  for (const key of Reflect.ownKeys(object)) if (!Object.hasOwn(before, key)) Reflect.deleteProperty(object, key);
  for (const key of Reflect.ownKeys(before)) {
    const [now, then] = [Object.getOwnPropertyDescriptor(object, key), before[key]];
    if (then && (now?.value !== then.value || now?.get !== then.get)) Object.defineProperty(object, key, then);
  }
}
