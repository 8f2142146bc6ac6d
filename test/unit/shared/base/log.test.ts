import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createLogger, rareWarning } from '../../../../shared/base/log.ts';
import { keptLog } from '../../../fixture/log.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('an error is logged without its own fields, whatever its name in the line', () => {
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => lines.push(line) });
  // As ioredis throws it: with the command, whose arguments hold what a user wrote.
  const command = { name: 'xadd', args: ['{sw:0}:inbound', '*', 'message', 'my private words'] };
  const error = Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError', command });
  log.warn({ err: error }, 'as err');
  log.warn({ reason: error }, 'as reason');
  log.warn(error);
  expect(lines.join('')).not.toContain('private');
  const errors = lines.map((line) => JSON.parse(line)).map(({ err, reason }) => err ?? reason);
  expect(errors).toEqual(
    Array(3).fill(expect.objectContaining({ name: 'ReplyError', message: 'OOM command not allowed' })),
  );
});

test('of a rare warning the first is logged at once, the others once a minute with their number and the last of them', () => {
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
  // After a quiet minute the next one is logged at once again.
  jest.advanceTimersByTime(300_000);
  note();
  expect(lines).toHaveLength(4);
});
