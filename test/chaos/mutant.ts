import type { Invariant } from './judge.ts';
import type { Mutation } from './mutant-copy.ts';

/** A file, the text that is replaced in it, and by what. */
export type Change = readonly [file: string, from: string, to: string];

/** A safeguard that is taken out, and the scenario that should notice. */
export interface Mutant {
  readonly name: string;
  /** What is changed in the copy. */
  readonly mutations: readonly Mutation[];
  readonly scenario: string;
  /** What must be seen to be violated: a copy that is red for something else proves nothing. */
  readonly violates: Invariant;
  /** How long the backlog may take to drain, where a sound product needs longer than usual. */
  readonly patienceS?: number;
  /** One of the two that run with every test. */
  readonly isInCut?: boolean;
}

export function mutant(
  violates: Invariant,
  scenario: string,
  name: string,
  changes: Change | readonly Change[],
): Mutant {
  return { name, scenario, violates, mutations: mutationsOf(changes) };
}

/** The same mutant, in a scenario that needs this long. */
export const slow = (patienceS: number, late: Mutant): Mutant => ({ ...late, patienceS });

export function mutationsOf(changes: Change | readonly Change[]): Mutation[] {
  const list = isOne(changes) ? [changes] : changes;
  return list.map(([file, from, to]) => ({ file, from, to }));
}

const isOne = (changes: Change | readonly Change[]): changes is Change => typeof changes[0] === 'string';
