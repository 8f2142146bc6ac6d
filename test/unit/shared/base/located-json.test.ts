import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LocatedJson, readLocatedJson } from '../../../../shared/base/located-json.ts';
import { forAll, forCases } from '../../../fixture/texts.ts';

type Read = Extract<LocatedJson, { ok: true }>;

/** Whether JSON.parse takes a text, and what it makes of it. */
function parsed(json: string): { ok: boolean; value?: unknown } {
  try {
    return { ok: true, value: JSON.parse(json) };
  } catch {
    return { ok: false };
  }
}

test('any document has the value that JSON.parse reads, however it is laid out', () => {
  forAll([fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t')], (value, indent) => {
    const json = JSON.stringify(value, null, indent);
    const read = readLocatedJson(json);
    expect(read).toMatchObject({ ok: true, twice: [] });
    expect((read as Read).value).toEqual(JSON.parse(json));
  });
});

test('any other text is refused wherever JSON.parse refuses it, and nothing throws', () => {
  const piece = fc.constantFrom(...'{·}·[·]·,·:·"·"a"·1·-·true·nul·\n·\\· ·__proto__'.split('·'));
  const pieces = fc.array(piece, { maxLength: 12 }).map((all) => all.join(''));
  forCases(2_000, [fc.oneof(fc.string(), pieces)], (text) => {
    expect(readLocatedJson(text).ok).toBe(parsed(text).ok);
  });
});

test('each value has the line of its key, each item its own, and what is absent that of its holder', () => {
  const read = readLocatedJson('\n{\n "a":\n  {"b": [1,\n 2]},\n\r\n "c": 3}') as Read;
  const lines = [[], ['a'], ['a', 'b'], ['a', 'b', 1], ['a', 'none', 'x'], ['c']].map((path) => read.lineOf(path));
  expect(lines).toEqual([2, 3, 4, 5, 3, 7]);
});

test.each([
  ['{"a": 1,\n "b" 2}', 2],
  ['{"a": 1,\n}', 2],
  ['{\n"a": "\n"}', 2],
  ['{\n', 1],
  ['', 1],
  ['{}\n\n{}', 3],
  ['{"a":\n tru}', 2],
  ['{1: 2}', 1],
])('%j stops being JSON in line %i', (json, line) => {
  expect(readLocatedJson(json)).toEqual({ ok: false, line });
});

test('what is nested too deeply is refused like what is no JSON', () => {
  expect(readLocatedJson('['.repeat(100_000))).toEqual({ ok: false, line: 1 });
});

test('keys that stand twice in one object are named; the later one holds', () => {
  const read = readLocatedJson('{"a": {"b": 1,\n "b": 2}, "c": {"b": 1}}') as Read;
  expect(read).toMatchObject({ value: { a: { b: 2 }, c: { b: 1 } }, twice: [['a', 'b']] });
  expect(read.lineOf(['a', 'b'])).toBe(2);
});
