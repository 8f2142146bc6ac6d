import { expect, test } from '@jest/globals';
import type { Conclusion } from '../../../../shared/state/turn/record.ts';
import { planned, ringingPart } from '../../../../worker/reply/plan.ts';

const answered = (notices: string[], answer: string): Conclusion => ({
  outcome: 'answered',
  ...planned(notices, answer, { rich: 'off' }),
});

test.each([
  ['an answer', answered([], 'The harbour is open.'), 0],
  ['an answer behind two notices', answered(['A fresh session.', 'Only its beginning.'], 'The harbour is open.'), 2],
  ['an answer in parts', answered(['A fresh session.'], 'word '.repeat(2_000)), 1],
  ['a notice alone', { outcome: 'failed', parts: ['I could not answer this message.'] } as Conclusion, 0],
  [
    'a file behind a notice',
    {
      outcome: 'command',
      parts: ['All of it.', 'chat.md'],
      layout: [null, { path: 'file', name: 'chat.md' }],
    } as Conclusion,
    0,
  ],
])('%s rings at its beginning', (_what, conclusion, part) => {
  expect(ringingPart(conclusion)).toBe(part);
});
