/**
 * A change of the state: one Redis command. Only the verbs of `shared/state/` make changes; they are applied together, in
 * order, by a fenced write (`Attempt.write`) or by a transaction of a store.
 */
export type Change = readonly [name: string, ...args: (string | number)[]];
