import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseVerbatimPart, earlierFiles, recordTokens } from '../../../../worker/recovery/kept.ts';
import { asShown } from '../../../../worker/session/overlay.ts';
import { type LogRecord, startsTurn } from '../../../../worker/session/record.ts';
import { call, result, text } from '../../../fixture/content-blocks.ts';
import { records as anyRecords, assistantSays, STAMP, userSays } from '../../../fixture/records.ts';
import { forAll } from '../../../fixture/texts.ts';

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
const shownTail = (records: readonly LogRecord[], { from, shortenings }: ReturnType<typeof chooseVerbatimPart>) =>
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
  const kept = chooseVerbatimPart(records, TOKENS_MAX);
  expect(kept.from).toBe(2);
  const shown = JSON.stringify(shownTail(records, kept));
  for (const word of ['start q', ' end', 'found f', ' done', 'well a', ' so']) expect(shown).toContain(word);
  expect(recordTokens(shownTail(records, kept).slice(0, -2))).toBeLessThanOrEqual(TOKENS_MAX);
});

const long = exchange(9_000);
const short = shownTail(long, chooseVerbatimPart(long, TOKENS_MAX));
const turn = (...content: ReturnType<typeof text>[]) => [own(userSays('Look')), own(assistantSays(content))];
const four = [1, 2, 3, 4].flatMap(() => exchange(200));
const trim: LogRecord = { ...STAMP, t: 'trim', what: 'results', through: 'r0' };

test.each<[string, LogRecord[], number, number, number[]]>([
  ['nothing of nothing', [], TOKENS_MAX, 0, []],
  ['an exchange that was answered', [...exchange(200), ...long], TOKENS_MAX, 2, [2_000, 2_000]],
  ['one answered in blocks', [...exchange(200), ...turn(text('a'.repeat(9_000))), trim], TOKENS_MAX, 2, [4_000]],
  ['one before a call of a tool', [...long, ...turn(text('I look.'), call('t1'))], TOKENS_MAX, 0, [2_000, 2_000]],
  ['one that just fits once it is shortened', long, recordTokens(short), 0, [2_000, 2_000]],
  ['one that just fits, as it is', long, recordTokens(long), 0, []],
  ['earlier ones that just fit', [...four, pending()], recordTokens(four.slice(2)), 2, []],
  ['all that fit', [...four, pending()], 5_000, 0, []],
  ['none that cannot be shortened', [...turn(call('t1', { input: 'x'.repeat(20_000) })), pending()], TOKENS_MAX, 2, []],
])('keeps %s', (_, records, tokensMax, from, lengths) => {
  const kept = chooseVerbatimPart(records, tokensMax);
  expect([kept.from, kept.shortenings.map((scrub) => scrub.text.length)]).toEqual([from, lengths]);
});

test('for any log, what is kept starts at a turn, includes the newest one, and is within the limit or alone', () => {
  forAll([fc.array(anyRecords, { maxLength: 20 }), fc.integer({ min: 10, max: 5_000 })], (log, tokensMax) => {
    const records = [...log.map(own), pending()];
    const kept = chooseVerbatimPart(records, tokensMax);
    const first = records[kept.from];
    expect(first !== undefined && (startsTurn(first) || kept.from === 0)).toBe(true);
    expect(kept.from).toBeLessThan(records.length);
    const newest = records.findLastIndex(startsTurn);
    const before = shownTail(records.slice(0, newest), kept);
    if (kept.from < newest) expect(recordTokens(before)).toBeLessThanOrEqual(tokensMax);
  });
});

const picture = (sha256: string) => ({
  type: 'image',
  source: { type: 'kept', sha256, media_type: 'image/png', bytes: 48 * 1024, width: 9, height: 9 },
});
const of = (records: LogRecord[], head?: LogRecord) => ({ head, records, omitted: 0 });

test('names the pictures that leave a window, those of tools too, with what was said with them', () => {
  const records = [
    userSays([picture('aa'), text('my [cat]\nundefined, and password=SECRETSECRET')]),
    assistantSays('A cat.'),
    userSays([result('t1', [text('found'), picture('bb')])]),
    userSays([picture('cc'), text('stays')]),
  ];
  const head = { ...STAMP, t: 'compaction' as const, summary: 's', records: 9 };
  expect(earlierFiles(of(records, head), 3)).toEqual([
    'image/png, 48 KB, of 2026-02-01, with "my cat undefined, and password= secret": {"ref":"aa"}',
    'image/png, 48 KB, of 2026-02-01: {"ref":"bb"}',
  ]);
  const later = { ...head, files: ['older', 'old'] };
  expect(earlierFiles(of(records, later), 1)).toEqual(['older', 'old', expect.stringContaining('"aa"')]);
  const many = Array.from({ length: 30 }, (_, at) => userSays(at === 0 ? 'Hi' : [picture(`p${at}`)]));
  expect(earlierFiles(of(many, later), 30)).toHaveLength(20);
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
