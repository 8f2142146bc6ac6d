import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Draft } from '../../../../../worker/model/rules/draft.ts';
import {
  findViolations,
  RULES,
  type RuleName,
  repairRequest,
  type WireRequest,
} from '../../../../../worker/model/rules/repair.ts';
import { APART, REFUSED } from '../../../../fixture/contract-cases.ts';
import { FACTS } from '../../../../fixture/requests.ts';

const NAMES = Object.keys(RULES) as RuleName[];
/** What can be repaired: nobody can say which model was meant. */
const CASES = [...REFUSED, ...APART.flatMap(([name, request, ours]) => (ours ? [[ours, name, request] as const] : []))]
  .filter(([, name]) => name !== 'no model')
  .map(([number, name, request]) => ({ number, name, request: request as WireRequest }));

const casesOf = (rule: RuleName) => CASES.filter(({ number }) => number === RULES[rule].number);
const namesIn = (found: readonly { rule: RuleName }[]): RuleName[] => found.map(({ rule }) => rule);

/** What the rule's own fix finds in a request, and the request after it. */
function fixedAlone(rule: RuleName, request: WireRequest): { found: RuleName[]; fixed: WireRequest } {
  const draft = new Draft({ ...request });
  RULES[rule].fix(draft, FACTS);
  return { found: namesIn(draft.notes), fixed: draft.written() as unknown as WireRequest };
}

test('the table has every rule from 1 to 28 once, except 19 and 20, which need a tokenizer', () => {
  const numbers = NAMES.map((rule) => RULES[rule].number);
  expect(numbers).toEqual(Array.from({ length: 28 }, (_, at) => at + 1).filter((number) => ![19, 20].includes(number)));
});

test.each(NAMES)('%s has a request that violates it, and its own fix finds and removes the violation', (rule) => {
  const violated = casesOf(rule)
    .map(({ request }) => fixedAlone(rule, request))
    .filter(({ found }) => found.includes(rule));
  expect(violated.length).toBeGreaterThan(0);
  for (const { fixed } of violated) expect(fixedAlone(rule, fixed).found).not.toContain(rule);
});

test.each(NAMES)('%s is reported wherever it is violated, and no violation remains after the repair', (rule) => {
  for (const { request } of casesOf(rule)) {
    expect(namesIn(findViolations(request, FACTS))).toContain(rule);
    const { left, repairs, request: repaired } = repairRequest(request, FACTS);
    expect(left).toEqual([]);
    expect(namesIn(repairs)).toContain(rule);
    expect(findViolations(repaired, FACTS)).toEqual([]);
  }
});

test('the docs name every rule, with its number', () => {
  const page = readFileSync('docs/context-management.md', 'utf8');
  const named = [...page.matchAll(/^\| `([a-z-]+)` +\| (\d+) +\|/gm)].map(([, rule, number]) => [rule, Number(number)]);
  expect(named).toEqual(NAMES.map((rule) => [rule, RULES[rule].number]));
});
