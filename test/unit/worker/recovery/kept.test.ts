import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseKept, recordTokens } from '../../../../worker/recovery/kept.ts';
import { asShown } from '../../../../worker/session/overlay.ts';
import { type LogRecord, startsTurn } from '../../../../worker/session/record.ts';
import { records as anyRecords, assistantSays, userSays } from '../../../fixture/records.ts';
import { SEEDED } from '../../../fixture/texts.ts';
import { call, result } from '../../../stand-in/claude/specimens.ts';

const TOKENS_MAX = 1_000;

let next = 0;
/** A record with an id of its own, as every one in a log has. */
function own(record: LogRecord): LogRecord {
  next += 1;
  return { ...record, id: `r${next}` } as LogRecord;
}

const exchange = (chars: number): LogRecord[] => [
  own(userSays('q'.repeat(chars), { entry: `${next}-0` })),
  own(assistantSays('a'.repeat(chars))),
];
const pending = () => own(userSays('And now?', { entry: '999-0' }));
const shownTail = (records: readonly LogRecord[], { from, shortenings }: ReturnType<typeof chooseKept>) =>
  asShown([...records.slice(from), ...shortenings]);

test('keeps the newest answered exchange verbatim, with the pending message', () => {
  const records = [...exchange(3_000), ...exchange(3_000), ...exchange(200), pending()];
  expect(chooseKept(records, TOKENS_MAX)).toEqual({ from: 4, shortenings: [] });
});

test('keeps earlier turns as long as all that is kept fits', () => {
  const records = [...Array.from({ length: 20 }, () => exchange(200)).flat(), pending()];
  const { from } = chooseKept(records, TOKENS_MAX);
  expect(from).toBeLessThan(records.length - 3);
  expect(recordTokens(records.slice(from, -1))).toBeLessThanOrEqual(TOKENS_MAX);
});

test('keeps a long exchange with the heads and tails of its question, answer and results', () => {
  const records = [
    ...exchange(3_000),
    own(userSays(`start ${'q'.repeat(9_000)} end`, { entry: '5-0' })),
    own({ ...assistantSays([call('t1')]), stopReason: 'tool_use' } as LogRecord),
    own(userSays([result('t1', `found ${'f'.repeat(9_000)} done`)])),
    own(assistantSays(`well ${'a'.repeat(9_000)} so`)),
    pending(),
  ];
  const kept = chooseKept(records, TOKENS_MAX);
  expect(kept.from).toBe(2);
  const shown = JSON.stringify(shownTail(records, kept));
  for (const word of ['start q', ' end', 'found f', ' done', 'well a', ' so']) expect(shown).toContain(word);
  expect(recordTokens(shownTail(records, kept).slice(0, -2))).toBeLessThanOrEqual(TOKENS_MAX);
  expect(JSON.stringify(records)).toContain('q'.repeat(9_000));
});

test('after a reply, the exchange that was just answered is the newest one', () => {
  const records = [...exchange(200), ...exchange(9_000)];
  const kept = chooseKept(records, TOKENS_MAX);
  expect(kept.from).toBe(2);
  expect(kept.shortenings).toHaveLength(2);
});

test('an exchange that cannot be made to fit is not kept, and the pending message is', () => {
  const input = { file: 'x'.repeat(20_000) };
  const records = [
    ...exchange(200),
    own(userSays('write it', { entry: '5-0' })),
    own({ ...assistantSays([call('t1', { input })]), stopReason: 'tool_use' } as LogRecord),
    own(userSays([result('t1', 'ok')])),
    own(assistantSays('Done.')),
    pending(),
  ];
  expect(chooseKept(records, TOKENS_MAX)).toEqual({ from: records.length - 1, shortenings: [] });
});

test('for any log, what is kept starts at a turn, includes the newest one, and is within the limit or alone', () => {
  fc.assert(
    fc.property(fc.array(anyRecords, { maxLength: 20 }), fc.integer({ min: 10, max: 5_000 }), (log, tokensMax) => {
      const records = [...log.map(own), pending()];
      const kept = chooseKept(records, tokensMax);
      const first = records[kept.from];
      expect(first !== undefined && (startsTurn(first) || kept.from === 0)).toBe(true);
      expect(kept.from).toBeLessThan(records.length);
      const newest = records.findLastIndex(startsTurn);
      const before = shownTail(records.slice(0, newest), kept);
      if (kept.from < newest) expect(recordTokens(before)).toBeLessThanOrEqual(tokensMax);
    }),
    SEEDED,
  );
});
