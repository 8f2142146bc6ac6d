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
  /** Whether input and `max_tokens` together must fit the window, as on older models. */
  readonly fitErrors: boolean;
  /** Whether thinking blocks are bound to the prefix that they were written after. */
  readonly bindThinking: boolean;
  /** Whether the model always thinks, so that it takes no budget and no ban, and no tool can be forced on it. Default false. */
  readonly thinks?: boolean;
  readonly memory: AnswerMemory;
}

/** A violation with the usual answer: 400 `invalid_request_error`. */
export function violation(rule: number, message: string): Violation {
  return { rule, status: 400, type: 'invalid_request_error', message };
}

/** The first violation among the results, each looked up only when the ones before it found nothing. */
export function firstOf<Item>(
  items: Iterable<Item>,
  find: (item: Item, index: number) => Violation | undefined,
): Violation | undefined {
  let index = 0;
  for (const item of items) {
    const found = find(item, index);
    if (found !== undefined) return found;
    index += 1;
  }
  return undefined;
}
