import type { AnswerMemory } from './memory.ts';

/** An error of the API. */
export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

/** The error for a rule of the API contract that a request broke, by its number in the contract's table. */
export interface Violation extends Refusal {
  readonly rule: number;
}

/** What a request is judged by, beyond itself. */
export interface Grounds {
  readonly maxOutputTokens: number;
  readonly windowTokens: number;
  /** Whether thinking blocks are bound to the prefix that they were written after. */
  readonly bindThinking: boolean;
  readonly memory: AnswerMemory;
}

/** The violations of a request, in the order in which the API notices them. Only the first one is looked for. */
export type Violations = Generator<Violation, void>;

/** A violation with the usual answer: 400 `invalid_request_error`. */
export function violation(rule: number, message: string): Violation {
  return { rule, status: 400, type: 'invalid_request_error', message };
}
