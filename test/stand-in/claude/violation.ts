import type { AnswerMemory } from './memory.ts';

/** One rule of the API contract that a request broke, and the error that the API answers to it. */
export interface Violation {
  /** The number in the contract's table. */
  readonly rule: number;
  readonly status: number;
  readonly type: string;
  readonly message: string;
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
