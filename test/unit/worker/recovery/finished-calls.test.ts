import { expect, test } from '@jest/globals';
import { estimateText } from '../../../../worker/model/estimate.ts';
import { finishedCalls } from '../../../../worker/recovery/finished-calls.ts';
import { buildSeed } from '../../../../worker/recovery/seed.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { assistantSays, userSays } from '../../../fixture/records.ts';
import { call, result } from '../../../stand-in/claude/specimens.ts';

const PENDING = '9-0';
const BUDGET = { pending: PENDING, tokensMax: 4_000, isBare: false };

function round(id: string, input: object, outcome: string, entry = PENDING): LogRecord[] {
  const asked = { ...assistantSays([call(id, { name: 'send_mail', input })]), entry, stopReason: 'tool_use' };
  return [asked as LogRecord, userSays([result(id, outcome)])];
}

const question = userSays('Tell them', { entry: PENDING });

test('lists each call that was made for the pending message, with its arguments and its result', () => {
  const log = [...round('t0', { to: 'old' }, 'sent', '1-0'), question, ...round('t1', { to: 'ann' }, 'sent to ann')];
  expect(finishedCalls(log, BUDGET)).toEqual(['send_mail {"to":"ann"} returned: sent to ann']);
});

test('marks a failed call as failed, and a call without a result as interrupted', () => {
  const failed = userSays([{ ...result('t1', 'no such address'), is_error: true }]);
  const [asked] = round('t1', { to: 'x' }, '');
  const [cut] = round('t2', { to: 'y' }, '');
  const log = [question, asked, failed, cut].filter((record) => record !== undefined);
  expect(finishedCalls(log, BUDGET)).toEqual([
    'send_mail {"to":"x"} failed: no such address',
    'send_mail {"to":"y"} was interrupted; nobody knows whether it took effect',
  ]);
});

test('lists a call that is in two sessions once', () => {
  const log = [question, ...round('t1', { to: 'ann' }, 'sent'), question, ...round('t1', { to: 'ann' }, 'sent')];
  expect(finishedCalls(log, BUDGET)).toHaveLength(1);
});

test('lists all of 60 long calls within 4,000 tokens, each shortened', () => {
  const rounds = Array.from({ length: 60 }, (_, n) =>
    round(`t${n}`, { to: `user-${n}`, text: 'x'.repeat(3_000) }, 'y'.repeat(3_000)),
  );
  const lines = finishedCalls([question, ...rounds.flat()], BUDGET);
  expect(lines).toHaveLength(60);
  for (const [n, line] of lines.entries()) expect(line).toContain(`user-${n}"`);
  expect(estimateText(lines.join('\n'))).toBeLessThanOrEqual(4_000);
});

test('counts the oldest calls if even shortened ones do not fit', () => {
  const rounds = Array.from({ length: 60 }, (_, n) => round(`t${n}`, { to: `user-${n}` }, 'sent'));
  const lines = finishedCalls([question, ...rounds.flat()], { ...BUDGET, tokensMax: 200 });
  expect(lines[0]).toMatch(/^\(\d+ older calls, all done, are not listed\)$/);
  expect(lines.at(-1)).toContain('user-59');
});

test('a listed call has no credential and no line break, and in a bare session little of both', () => {
  const log = [question, ...round('t1', { key: 'sk-ant-verysecretkey' }, 'line one\nline two')];
  const [line] = finishedCalls(log, BUDGET);
  expect(line).toContain('[secret]');
  expect(line).not.toMatch(/verysecretkey|\n/);
  expect(finishedCalls(log, { ...BUDGET, isBare: true })).toEqual([expect.stringMatching(/^send_mail .{1,250}$/)]);
});

test('a seed of 400 tokens lists the finished calls inside its boundary, bare or not', () => {
  const log = [question, ...round('t1', { to: 'ann' }, 'sent to ann')];
  const source = { records: log, total: 3, pending: PENDING, channel: 'Telegram', boundary: 'b0undary' };
  for (const isBare of [false, true]) {
    const seed = buildSeed({ ...source, tokensMax: 400, because: 'refused', isBare });
    const [, quoted] = seed.split('---- b0undary ----');
    expect(quoted).toMatch(/already made for the message that follows[\s\S]*send_mail/);
    expect(quoted).toContain('sent to ann');
  }
});
