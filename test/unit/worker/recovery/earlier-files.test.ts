import { expect, test } from '@jest/globals';
import { earlierFiles } from '../../../../worker/recovery/kept.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { assistantSays, STAMP, userSays } from '../../../fixture/records.ts';
import { result, text } from '../../../stand-in/claude/specimens.ts';

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
