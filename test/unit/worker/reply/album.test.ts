import { expect, test } from '@jest/globals';
import type { FilePart } from '../../../../shared/flow/reply.ts';
import type { PartMark, PartPlace } from '../../../../shared/state/turn/aspects.ts';
import type { Conclusion } from '../../../../shared/state/turn/record.ts';
import { albumFrom, planned } from '../../../../worker/reply/plan.ts';

const picture = (name: string): FilePart => ({ path: 'file', name, sha256: 'a', isPicture: true });
const LETTER: FilePart = { path: 'file', name: 'a.txt', text: 'a' };

function answerWith(files: readonly FilePart[]): Conclusion {
  return { outcome: 'answered', ...planned([], 'Here.', { rich: 'off' }, files) };
}

function albums(conclusion: Conclusion, marks: Partial<Record<PartPlace, PartMark>> = {}): number[] {
  const counts: number[] = [];
  for (let index = 0; index < conclusion.parts.length; index += counts.at(-1) ?? 1)
    counts.push(albumFrom(conclusion, index, { markOf: (at) => marks[at] }));
  return counts;
}

const many = (count: number) => Array.from({ length: count }, (_, at) => picture(`${at}.png`));

test('2 to 10 pictures in a row are an album, and nothing else is', () => {
  expect(albums(answerWith([]))).toEqual([1]);
  expect(albums(answerWith(many(1)))).toEqual([1, 1]);
  expect(albums(answerWith([...many(2), LETTER, ...many(3)]))).toEqual([1, 2, 1, 3]);
  expect(albums(answerWith(many(12)))).toEqual([1, 10, 2]);
  expect(albums({ outcome: 'failed', parts: ['I could not.'] })).toEqual([1]);
});

test('what an earlier version has sent by itself is in no album with the rest', () => {
  expect(albums(answerWith(many(4)), { 1: 'sent' })).toEqual([1, 1, 3]);
  expect(albums(answerWith(many(4)), { 1: 'sent', 2: 'sending' })).toEqual([1, 1, 1, 2]);
  expect(albums(answerWith(many(4)), { 1: 'sending', 2: 'sending', 3: 'sending', 4: 'sending' })).toEqual([1, 4]);
});
