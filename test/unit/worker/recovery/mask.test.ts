import { expect, test } from '@jest/globals';
import { maskResults } from '../../../../worker/recovery/window-compaction.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import type { Window } from '../../../../worker/session/view.ts';
import { roomFor } from '../../../fixture/compaction.ts';
import { assistantSays, userSays } from '../../../fixture/records.ts';
import { call, result } from '../../../stand-in/claude/specimens.ts';

const ROOM = roomFor(16_000);
const BIG = 'found something '.repeat(900);

function round(id: string, found: string): LogRecord[] {
  const called = { ...assistantSays([call(id)]), stopReason: 'tool_use', id: `call ${id}` } as LogRecord;
  return [called, userSays([result(id, found)], { id: `result ${id}` })];
}

function turn(id: string, found: string): LogRecord[] {
  const end = { ...assistantSays('Done.'), id: `end ${id}` };
  return [userSays(`ask ${id}`, { id: `ask ${id}` }), ...round(id, found), end];
}

function windowOf(...records: LogRecord[]): Window {
  return { head: undefined, records, omitted: 0 };
}

test('masks the results of old turns, and keeps those of the previous and of the pending turn whole', () => {
  const window = windowOf(
    ...['a', 'b', 'c', 'd'].flatMap((id) => turn(id, BIG)),
    ...turn('e', 'small'),
    userSays('pending', { id: 'pending' }),
  );
  const mask = maskResults(window, ROOM, []);
  expect(mask?.trims[0]).toMatchObject({ t: 'trim', what: 'results', through: 'end d' });
  expect(mask?.tokensAfter).toBeLessThan((mask?.tokensBefore ?? 0) * 0.2);
});

test('keeps only the newest round of a large pending turn whole', () => {
  const rounds = [...round('a', BIG), ...round('b', BIG), ...round('c', 'small')];
  const window = windowOf(userSays('pending', { id: 'pending' }), ...rounds);
  const mask = maskResults(window, ROOM, []);
  expect(mask?.trims[0]?.through).toBe('call c');
});

test.each<[string, Window, number]>([
  ['only the texts are long', windowOf(...turn('a', 'small'), assistantSays(BIG.repeat(3)), userSays('p')), 16_000],
  [
    'the rest is too much',
    windowOf(...turn('a', BIG), ...turn('b', BIG), userSays(`${BIG}${BIG}`), userSays('p')),
    4_000,
  ],
  ['only the newest round is large', windowOf(userSays('p'), ...round('a', 'small'), ...round('b', BIG)), 16_000],
  ['there is nothing to mask', windowOf(userSays('p')), 16_000],
  ['there is nothing', windowOf(), 16_000],
])('there is no mask if %s', (_, window, limitTokens) => {
  expect(maskResults(window, roomFor(limitTokens), [])).toBeUndefined();
});
