import type { Invariant } from './judge.ts';
import type { Mutation } from './mutant-copy.ts';

/** A safeguard that is taken out, and the scenario that should notice. */
export interface Mutant {
  name: string;
  /** What is changed in the copy. */
  mutations: Mutation | readonly Mutation[];
  scenario: string;
  /** What must be seen to be violated: a copy that is red for something else proves nothing. */
  violates: Invariant;
  /** How long the backlog may take to drain, where a sound product needs longer than usual. */
  patienceS?: number;
  /** One of the two that run with every test. */
  isInCut?: boolean;
}
