import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { rareWarning } from '../../../../shared/base/log.ts';
import { keptLog } from '../../../fixture/log.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('the first is logged at once, the others once a minute with their number and the last of them', () => {
  const { log, lines } = keptLog();
  const note = rareWarning(log, 'refused');
  for (let at = 0; at < 2_000; at += 1) note({ at });
  expect(lines).toMatchObject([{ msg: 'refused', level: 40, count: 1, at: 0 }]);
  jest.advanceTimersByTime(59_999);
  expect(lines).toHaveLength(1);
  jest.advanceTimersByTime(1);
  expect(lines.slice(1)).toMatchObject([{ msg: 'refused', count: 1_999, at: 1_999 }]);
  note({ at: 'again' });
  expect(lines).toHaveLength(2);
  jest.advanceTimersByTime(60_000);
  expect(lines.slice(2)).toMatchObject([{ count: 1, at: 'again' }]);
});

test('after a quiet minute nothing is said, and the next one is logged at once again', () => {
  const { log, lines } = keptLog();
  const note = rareWarning(log, 'refused');
  note();
  jest.advanceTimersByTime(300_000);
  expect(lines).toHaveLength(1);
  note();
  expect(lines).toHaveLength(2);
});
