import type { Expectation } from './expectation.ts';
import { PINGS, TALK } from './talk-expectations.ts';
import { TURNS } from './turn-expectations.ts';

/** Everything that we believe of the Messages API and can look at with a few short calls. */
export const EXPECTATIONS: readonly Expectation[] = [...TALK, ...TURNS, PINGS];
