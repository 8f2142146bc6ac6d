import { expect, test } from '@jest/globals';
import { compact, maskResults } from '../../../../worker/recovery/window-compaction.ts';
import type { LogRecord, TrimRecord } from '../../../../worker/session/record.ts';
import type { Window } from '../../../../worker/session/view.ts';
import { compactionBy, roomFor } from '../../../fixture/compaction.ts';
import { call, result } from '../../../fixture/content-blocks.ts';
import { assistantSays, STAMP, userSays } from '../../../fixture/records.ts';
import { scripted } from '../../../fixture/scripted-model.ts';

const ROOM = roomFor(16_000);
const BIG = 'found something '.repeat(900);
const ASK = userSays('pending', { id: 'pending' });
const THINKING: TrimRecord = { ...STAMP, t: 'trim', what: 'thinking', through: 'gone' };

function round(id: string, found: string): LogRecord[] {
  const called = { ...assistantSays([call(id)]), stopReason: 'tool_use', id: `call ${id}` } as LogRecord;
  return [called, userSays([result(id, found)], { id: `result ${id}` })];
}

function turn(id: string, found: string): LogRecord[] {
  const end = { ...assistantSays('Done.'), id: `end ${id}` };
  return [userSays(`ask ${id}`, { id: `ask ${id}` }), ...round(id, found), end];
}

const windowOf = (...records: LogRecord[]): Window => ({ head: undefined, records, omitted: 0 });
const OLD = [...['a', 'b', 'c', 'd'].flatMap((id) => turn(id, BIG)), ...turn('e', 'small')];
const [E, F] = [round('e', BIG), round('f', BIG)];
const [SMALL, LARGE] = [round('small', 'small'), round('large', BIG.repeat(2).slice(0, 15_000))];

test.each<[string, LogRecord[], string, number, number, number, number]>([
  ['old turns, and keeps the previous one', [...OLD, ASK], 'end d', 13_929, 405, 403, 2_797],
  ['a pending turn but for its newest round', [ASK, ...E, ...F, ...SMALL], 'call small', 6_954, 192, 158, 3_042],
  ['an answered turn as well', [ASK, ...E, ...SMALL, assistantSays('Done.')], 'call small', 3_502, 121, 85, 2_681],
  ['what stands before a large round', [ASK, ...E, ...F, ...LARGE], 'call large', 10_524, 3_762, 158, 2_640],
  ['a result if just enough is gained', [ASK, ...round('a', 'x'.repeat(311)), ...SMALL], 'call small', 142, 114, 80, 0],
])('masks the results of %s', (_, records, through, tokensBefore, tokensAfter, olderTokens, spareTokens) => {
  const trims = [{ ...THINKING, id: expect.any(String), at: expect.any(String), what: 'results', through }, THINKING];
  const masked = { trims, tokensBefore, tokensAfter, olderTokens, spareTokens };
  expect(maskResults(windowOf(...records), ROOM, [THINKING])).toEqual(masked);
});

const MASKED = [expect.objectContaining({ what: 'results', through: 'call small' }), THINKING];

test.each<[string, LogRecord[], changes: unknown[], number, number, number, number]>([
  ['the results of earlier rounds', [...OLD, ASK, ...E, ...SMALL], MASKED, 17_419, 267, 233, 1_767],
  ['them where one turn is older', [...turn('a', BIG), ASK, ...E, ...SMALL], MASKED, 6_966, 224, 190, 1_810],
  ['none while there is room', [...OLD, ...turn('f', BIG.slice(0, 3_000)), ASK], [THINKING], 14_685, 914, 912, 1_088],
  ['none that gains nothing', [...OLD, ASK, ...SMALL, ...LARGE], [THINKING], 17_563, 3_792, 188, 210],
])('a compaction masks %s', async (_, older, changes, tokensBefore, tokensAfter, olderTokens, spareTokens) => {
  const options = compactionBy(scripted('They looked for boats. '.repeat(10)), { thinking: [THINKING] });
  const compaction = await compact(windowOf(...older), options, new AbortController().signal);
  expect(compaction).toMatchObject({ changes, tokensBefore, tokensAfter, olderTokens, spareTokens });
});

test.each<[string, Window, number]>([
  ['only the texts are long', windowOf(...turn('a', 'small'), assistantSays(BIG.repeat(3)), userSays('p')), 16_000],
  ['the rest is too much', windowOf(...OLD, userSays(`${BIG}${BIG}`), userSays('p')), 4_000],
  ['only the newest round is large', windowOf(userSays('p'), ...round('a', 'small'), ...round('b', BIG)), 16_000],
  ['there is nothing to mask', windowOf(userSays('p')), 16_000],
  ['there is nothing', windowOf(), 16_000],
])('there is no mask if %s', (_, window, limitTokens) => {
  expect(maskResults(window, roomFor(limitTokens), [])).toBeUndefined();
});
