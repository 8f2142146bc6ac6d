/**
 * Stands for `@jest/globals` where tests are run by `runner.ts`: what the suites of pure rooms take from it, and no more.
 * A suite that takes something else fails when it is loaded.
 */
import { expect as expectOfJest } from 'expect';
import { bind } from 'jest-each';

export const expect = expectOfJest;

/** One test of a suite. */
export interface Declared {
  readonly name: string;
  readonly run: () => unknown;
}

/** All tests that were declared since the process began, in their order. */
export const declared: Declared[] = [];

function declare(name: string, run: () => unknown): void {
  declared.push({ name, run });
}

export const test = Object.assign(declare, { each: bind(declare as never, false) });
