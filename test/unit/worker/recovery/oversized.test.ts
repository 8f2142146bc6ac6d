import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  areLargerThan,
  bytesOf,
  largePartsOfTurn,
  largestParts,
  mediaParts,
} from '../../../../worker/recovery/oversized.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { assistantSays, records, userSays } from '../../../fixture/records.ts';
import { SEEDED } from '../../../fixture/texts.ts';
import { call, image, png, result, text } from '../../../stand-in/claude/specimens.ts';

const KB = 1024;
const picture = (bytes: number) => ({
  type: 'image',
  source: { type: 'kept', sha256: 'a'.repeat(64), media_type: 'image/jpeg', bytes, width: 9, height: 9 },
});
const file = (bytes: number) => ({
  type: 'document',
  title: 'report.pdf',
  source: { type: 'kept', sha256: 'b'.repeat(64), media_type: 'application/pdf', bytes, pages: 3 },
});

test('picks the largest parts of the newest turn first, and of older turns only if that is not enough', () => {
  const log = [
    userSays([text('old'), picture(900 * KB)], { entry: '1-0' }),
    assistantSays('seen'),
    userSays([text('new'), picture(100 * KB), file(400 * KB)], { entry: '2-0' }),
  ];
  expect(largestParts(log, 1).map(({ name }) => name)).toEqual(['the file "report.pdf"']);
  expect(largestParts(log, 600 * KB).map(({ record, block }) => [record.entry, block])).toEqual([
    ['2-0', 2],
    ['2-0', 1],
  ]);
  expect(largestParts(log, 1_000 * KB).map(({ record, block }) => [record.entry, block])).toEqual([
    ['2-0', 2],
    ['2-0', 1],
    ['1-0', 1],
  ]);
});

test('picks no small parts, and no part at all if nothing has to be removed', () => {
  expect(largestParts([userSays('a'.repeat(7 * KB)), userSays([picture(KB)])], 10_000 * KB)).toEqual([]);
  expect(largestParts([userSays('a'.repeat(9 * KB))], 0)).toEqual([]);
});

test('the placeholder has the name, kind and size of a file, or the head and tail of a text', () => {
  const long = `head ${'x'.repeat(20_000)} tail`;
  const [first, second] = largestParts([userSays([text(long), file(3 * KB * KB)])], 90_000 * KB);
  expect(first?.instead).toBe('[document report.pdf, 3 pages, 3.0 MB, left out]');
  expect(second?.instead).toMatch(/^head x[\s\S]*20010 characters in all[\s\S]*x tail$/);
  expect(second?.instead.length).toBeLessThanOrEqual(2_000);
});

test('a tool result for the newest message is a part of its turn', () => {
  const log = [
    userSays('old '.repeat(9_000)),
    assistantSays('ok'),
    userSays('find it', { entry: '2-0' }),
    assistantSays([call('t1')]),
    userSays([result('t1', 'y'.repeat(9_000))], { id: 'results' }),
  ];
  const parts = largePartsOfTurn(log, 2_000);
  expect(parts).toMatchObject([{ record: { id: 'results' }, block: 0, name: 'a part of what a tool returned' }]);
  expect(parts[0]?.instead.length).toBeLessThanOrEqual(2_000);
});

test('a message of plain text is one part, without a block index', () => {
  const [part] = largePartsOfTurn([userSays('z'.repeat(5_000), { entry: '1-0' })], 2_000);
  expect(part).toMatchObject({ bytes: expect.any(Number), name: 'the middle of a long text' });
  expect(part?.block).toBeUndefined();
});

test('mediaParts finds all media, however small, also inside tool results', () => {
  const inline = image(png(9, 9));
  const log = [
    userSays([text('a'), picture(10)], { entry: '1-0' }),
    userSays([result('t1', [text('b'), inline]), result('t2', 'plain')], { id: 'results' }),
    userSays('none here'),
  ];
  const parts = mediaParts(log);
  expect(parts.map(({ record, block }) => [record.entry ?? record.id, block])).toEqual([
    ['1-0', 1],
    ['results', 0],
  ]);
  expect(parts[1]?.instead).toMatch(/^b\n[\s\S]*\[image\/png, 1 KB, left out\]$/);
});

test('bytesOf counts a kept file with its size in base64', () => {
  expect(bytesOf([userSays([picture(3_000_000)])])).toBe(4_000_000);
  expect(bytesOf([userSays('я'.repeat(100))])).toBeGreaterThan(200);
  expect(bytesOf([userSays([result('t1', [picture(3_000_000)])])])).toBeGreaterThanOrEqual(4_000_000);
});

test('for any log, a placeholder is not blank, is smaller than its part, and names a record of the log', () => {
  fc.assert(
    fc.property(fc.array(records, { maxLength: 8 }), (log) => {
      const large = [...largestParts(log, Number.MAX_SAFE_INTEGER), ...largePartsOfTurn(log, 2_000)];
      for (const { instead, bytes } of large) expect(instead.length).toBeLessThan(bytes);
      for (const part of [...large, ...mediaParts(log)]) {
        expect(log).toContain(part.record);
        expect(part.instead.trim()).not.toBe('');
      }
    }),
    SEEDED,
  );
});

test('records are larger than a number of bytes exactly when they weigh more', () => {
  const heavy = fc.constantFrom<LogRecord>(
    userSays([picture(KB), result('t1', [file(5 * KB), text('\u0001'.repeat(40))])]),
    userSays('\u0002'.repeat(90)),
    userSays([result('t2', undefined), file(0)]),
    assistantSays([call('t1', { input: { '\ud83d': [1.5e300, null, true, -1] } })]),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(records, heavy), { maxLength: 6 }), fc.integer({ min: -40, max: 40 }), (log, off) => {
      const bytes = bytesOf(log);
      expect(areLargerThan(bytes + off, log)).toBe(off < 0);
    }),
    SEEDED,
  );
});
