import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Repair,
  type RequestFacts,
  RULES,
  type RuleName,
  repairRequest,
  type WireRequest,
} from '../../../../../worker/model/rules/repair.ts';
import { ACCEPTED, APART, one, REFUSED, say, times } from '../../../../fixture/contract-cases.ts';
import { injured, oddRequests } from '../../../../fixture/injuries.ts';
import { clone, conversations, FACTS, GROUNDS } from '../../../../fixture/requests.ts';
import { cpuMs, LINEAR_MS_MAX, SEEDED } from '../../../../fixture/texts.ts';
import { firstViolation } from '../../../../stand-in/claude/rules.ts';
import {
  assistant,
  call,
  image,
  pages,
  png,
  result,
  text,
  thinking,
  user,
} from '../../../../stand-in/claude/specimens.ts';

const NAMES = Object.keys(RULES) as RuleName[];
/** What can be repaired: nobody can say which model was meant. */
const CASES = [...REFUSED, ...APART.flatMap(([name, request, ours]) => (ours ? [[ours, name, request] as const] : []))]
  .filter(([, name]) => name !== 'no model')
  .map(([number, name, request]) => ({ number, name, request: request as WireRequest }));

const casesOf = (rule: RuleName) => CASES.filter(({ number }) => number === RULES[rule]);
const namesIn = (found: readonly { rule: RuleName }[]): RuleName[] => found.map(({ rule }) => rule);

/** What is repaired in a request, which is what violates a rule. */
const repairsOf = (request: WireRequest, facts: RequestFacts = FACTS): Repair[] =>
  repairRequest(request, facts).repairs;

test('the table has every rule from 1 to 28 once, except 18, which a history obeys, and 19 and 20, which need a tokenizer', () => {
  const numbers = NAMES.map((rule) => RULES[rule]);
  expect(numbers).toEqual(
    Array.from({ length: 28 }, (_, at) => at + 1).filter((number) => ![18, 19, 20].includes(number)),
  );
});

test.each(NAMES)('%s is repaired wherever it is violated, and nothing is left to repair', (rule) => {
  expect(casesOf(rule)).not.toEqual([]);
  for (const { request } of casesOf(rule)) {
    const { repairs, request: repaired } = repairRequest(request, FACTS);
    expect(namesIn(repairs)).toContain(rule);
    expect(repairsOf(repaired)).toEqual([]);
  }
});

test('the docs name every rule, with its number', () => {
  const page = readFileSync('docs/context-management.md', 'utf8');
  const named = [...page.matchAll(/^\| `([a-z-]+)` +\| (\d+) +\|/gm)].map(([, rule, number]) => [rule, Number(number)]);
  expect(named).toEqual(NAMES.map((rule) => [rule, RULES[rule]]));
});

const rulesIn = (request: unknown): number[] => repairsOf(request as WireRequest).map(({ rule }) => RULES[rule]);
const theirRule = (request: unknown): number | undefined => firstViolation(clone(request), GROUNDS)?.rule;

test.each(ACCEPTED)('rule %i accepts %s', (_, __, request) => {
  expect(rulesIn(request)).toEqual([]);
  expect(theirRule(request)).toBeUndefined();
});

test.each(REFUSED)('rule %i refuses %s', (rule, name, request) => {
  expect(rulesIn(request)).toEqual(name === 'no model' ? [] : expect.arrayContaining([rule]));
  if (rule !== 17) expect(theirRule(request)).toBeDefined();
  else expect(firstViolation(request, GROUNDS)?.rule).toBe(17);
});

test.each(APART)('differs from the stand-in: %s', (_, request, ours, theirs) => {
  expect(rulesIn(request)).toEqual(ours === undefined ? [] : expect.arrayContaining([ours]));
  expect(theirRule(request)).toBe(theirs);
});

test('rule 23 allows 600 pictures for a window of more than 200,000 tokens', () => {
  const long = { ...FACTS, windowTokens: 200_001 };
  expect(repairsOf(say(user(...times(600, image(png(9, 9))))), long)).toEqual([]);
  expect(repairsOf(say(user(...times(601, image(png(9, 9))))), long)).toMatchObject([{ rule: 'image-size' }]);
  expect(firstViolation(say(user(...times(600, image(png(9, 9))))), { ...GROUNDS, ...long })).toBeUndefined();
});

test('rule 24 allows 600 pages for a long window, and rule 21 any output for an unknown limit', () => {
  const long = { ...FACTS, windowTokens: 1_000_000 };
  expect(repairsOf(say(user(pages(600))), long)).toEqual([]);
  expect(repairsOf(say(user(pages(601))), long)).toMatchObject([{ rule: 'pdf-pages' }]);
  expect(firstViolation(say(user(pages(600))), { ...GROUNDS, ...long })).toBeUndefined();
  expect(firstViolation(say(user(pages(601))), { ...GROUNDS, ...long })).toMatchObject({ rule: 24 });
  expect(repairsOf({ ...one, max_tokens: 1e6 }, { bindsThinking: false })).toEqual([]);
});

test('a repair names its path, and quotes nothing from the request', () => {
  const secret = 'SECRET\ud83d';
  const request = say(
    user({ type: 'text', text: secret, [secret]: secret }, image(secret), { type: secret }),
    assistant(thinking(secret), call(secret, { name: secret, input: { [secret]: secret } })),
    user(result('x', [image(png(9, 8001)), text('')]), text(secret)),
  );
  const repairs = repairsOf(request);
  expect(JSON.stringify(repairs)).not.toContain('SECRET');
  expect(repairs).toContainEqual({
    rule: 'image-size',
    path: 'messages.2.content.0.content.0',
    what: 'placeholder',
  });
  expect(repairs.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['messages.0.content.1', 'messages.1.content.1']),
  );
});

test('a sound request needs no repair, and one that the stand-in refuses does', () => {
  const seen = new Set<number | undefined>();
  fc.assert(
    fc.property(injured(3), ({ request, grounds }) => {
      const ours = repairsOf(request);
      const theirs = firstViolation(JSON.parse(JSON.stringify(request)), grounds);
      seen.add(theirs?.rule);
      if (theirs === undefined) expect(ours).toEqual([]);
      else expect(ours).not.toEqual([]);
    }),
    { ...SEEDED, numRuns: 600 },
  );
  const rules = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 21, 22, 23, 24, 25, 27, 28];
  expect([...seen]).toEqual(expect.arrayContaining([undefined, ...rules]));
});

test('a conversation written by the stand-in has no violation, bound thinking included', () => {
  fc.assert(
    fc.property(conversations(true), ({ request, grounds }) => {
      expect(firstViolation(request, grounds)).toBeUndefined();
      expect(repairsOf(request, { ...FACTS, bindsThinking: true })).toEqual([]);
    }),
    { ...SEEDED, numRuns: 60 },
  );
});

test('the repair never throws, however odd or deep a value is', () => {
  const loop: Record<string, unknown> = {};
  loop.loop = loop;
  const odds = [undefined, null, 1, 'x', [], 1n, loop, () => 1, { ...one, system: 1n }, { ...one, metadata: loop }];
  for (const odd of odds) expect(() => repairsOf(odd as unknown as WireRequest)).not.toThrow();
  let deep: unknown = 'x\ud83d';
  for (let depth = 0; depth < 20_000; depth++) deep = [deep];
  expect(repairsOf(say(user('a'), assistant(call('t', { input: { deep } }))))).not.toEqual([]);
  fc.assert(
    fc.property(oddRequests(), (odd) => {
      expect(Array.isArray(repairsOf(odd))).toBe(true);
    }),
    { ...SEEDED, numRuns: 500 },
  );
});

test('a repair takes linear time on a megabyte', () => {
  const long = 'Some "text" with\nlines, \\ and é. '.repeat(30);
  const request = say(...times(500, [user(long), assistant(long)]).flat(), user('a'));
  expect(JSON.stringify(request).length).toBeGreaterThan(1_000_000);
  const start = cpuMs();
  expect(repairsOf(request)).toEqual([]);
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});
