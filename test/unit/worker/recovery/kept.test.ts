import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseKept, earlierFiles, recordTokens } from '../../../../worker/recovery/kept.ts';
import { asShown } from '../../../../worker/session/overlay.ts';
import { type LogRecord, startsTurn } from '../../../../worker/session/record.ts';
import { records as anyRecords, assistantSays, STAMP, userSays } from '../../../fixture/records.ts';
import { SEEDED } from '../../../fixture/texts.ts';
import { call, result, text } from '../../../stand-in/claude/specimens.ts';

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

const picture = (sha256: string) => ({
  type: 'image',
  source: { type: 'kept', sha256, media_type: 'image/png', bytes: 48 * 1024, width: 9, height: 9 },
});
const of = (records: LogRecord[], head?: LogRecord) => ({ head, records, omitted: 0 });

test('names the pictures that leave a window, those of tools too, with what was said with them', () => {
  const records = [
    userSays([picture('aa'), text('my [cat]\nand password=SECRETSECRET')]),
    assistantSays('A cat.'),
    userSays([result('t1', [text('found'), picture('bb')])]),
    userSays([picture('cc'), text('stays')]),
  ];
  expect(earlierFiles(of(records), 3)).toEqual([
    'image/png, 48 KB, of 2026-02-01, with "my cat and password= secret": {"ref":"aa"}',
    'image/png, 48 KB, of 2026-02-01: {"ref":"bb"}',
  ]);
  const head: LogRecord = { ...STAMP, t: 'compaction', summary: 's', records: 9, files: ['older', 'old'] };
  expect(earlierFiles(of(records, head), 1)).toEqual(['older', 'old', expect.stringContaining('"aa"')]);
  const many = Array.from({ length: 30 }, (_, at) => userSays([picture(`p${at}`)]));
  expect(earlierFiles(of(many, head), 30)).toHaveLength(20);
});

test('does not name a picture that was refused, and names one that was only left out', () => {
  const records: LogRecord[] = [
    userSays([picture('aa')], { entry: '1-0' }),
    userSays([picture('bb')], { entry: '2-0' }),
    { ...STAMP, t: 'scrub', entry: '1-0', block: 0, text: '[image/png, 48 KB, left out]' },
    { ...STAMP, t: 'scrub', entry: '2-0', block: 0, text: '[image/png; the tool "recall" shows it with {"ref":"bb"}]' },
  ];
  expect(earlierFiles(of(records), 4)).toEqual([expect.stringContaining('"bb"')]);
});
