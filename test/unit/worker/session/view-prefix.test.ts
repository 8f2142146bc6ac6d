import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { repairLog } from '../../../../worker/model/rules/repair.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { view, type Window } from '../../../../worker/session/view.ts';
import { viewBehindPrefix } from '../../../../worker/session/view-prefix.ts';
import { asWritten } from '../../../../worker/session/written.ts';
import { records as anyRecords, assistantSays, userSays } from '../../../fixture/records.ts';
import { SEEDED } from '../../../fixture/texts.ts';
import { call, result, text } from '../../../stand-in/claude/specimens.ts';

/** A log whose records have ids of their own, as real ones have, and cannot be changed. */
function logOf(records: readonly LogRecord[]): LogRecord[] {
  return records.map((record, n) => frozen({ ...record, id: record.id === 'r' ? `r-${n}` : record.id }) as LogRecord);
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

const whole = (window: Window) => repairLog(asWritten(window));
const plain = (n: number) => (n % 2 === 0 ? userSays(`question ${n}`) : assistantSays(`answer ${n}`));
const windowOf = (records: readonly LogRecord[], more: Partial<Window> = {}): Window => ({
  head: undefined,
  records,
  omitted: 0,
  ...more,
});

/** What people and the model say most of the time, among everything that a log may hold. */
const logs = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant('exchange' as const) },
      { weight: 1, arbitrary: fc.constant('tools' as const) },
      { weight: 2, arbitrary: anyRecords },
    ),
    { maxLength: 14 },
  )
  .map((items) =>
    logOf(
      items.flatMap((item, n) => {
        if (item === 'exchange') return [plain(2 * n), plain(2 * n + 1)];
        if (item !== 'tools') return [item];
        const asks = [text('I look.'), call(`toolu_${n % 5}`)];
        return [plain(2 * n), assistantSays(asks), userSays([result(`toolu_${n % 5}`)]), plain(2 * n + 1)];
      }),
    ),
  );

test('a view that goes on from an earlier one is the view of the whole window, however the log grew', () => {
  let used = 0;
  const growing = fc.tuple(logs, fc.array(fc.nat(5), { maxLength: 12 }));
  fc.assert(
    fc.property(growing, ([log, steps]) => {
      let length = 0;
      for (const step of [...steps, log.length]) {
        length = Math.min(log.length, length + step);
        const window = windowOf(log.slice(0, length));
        expect(view(window)).toEqual(whole(window));
        if (viewBehindPrefix(window)) used += 1;
      }
    }),
    { ...SEEDED, numRuns: 1_000 },
  );
  expect(used).toBeGreaterThan(1_000);
});

test('another head, another beginning and records in another place have their own view', () => {
  const log = logOf(Array.from({ length: 21 }, (_, n) => plain(n)));
  const head: LogRecord = { v: 1, t: 'compaction', id: 'c', at: '', summary: 'what was said', records: 0 };
  const windows = [
    windowOf(log),
    windowOf(log, { head }),
    windowOf(log, { omitted: 7 }),
    windowOf(log.slice(2)),
    windowOf([...log.slice(0, 4), ...logOf([userSays('something else')]), ...log.slice(5)]),
    windowOf([...log.slice(0, 4), ...log.slice(6)]),
    windowOf(log.slice(0, 9)),
  ];
  for (const window of [...windows, ...windows]) expect(view(window)).toEqual(whole(window));
});

test('a window whose ends are known and whose middle is not has its own view', () => {
  const log = logOf(Array.from({ length: 21 }, (_, n) => plain(n)));
  view(windowOf(log));
  const other = windowOf([...log.slice(0, 4), ...logOf([userSays('something else')]), ...log.slice(5)]);
  expect(view(other)).toEqual(whole(other));
});

test('a scrub or a trim that comes later changes what was shown before', () => {
  const log = logOf([...Array.from({ length: 9 }, (_, n) => plain(n))]);
  const scrub: LogRecord = { v: 1, t: 'scrub', id: 's', at: '', record: 'r-2', text: '[left out]' };
  view(windowOf(log));
  const messages = view(windowOf([...log, scrub]));
  expect(JSON.stringify(messages)).toContain('[left out]');
  expect(messages).toEqual(whole(windowOf([...log, scrub])));
});

test('a scrub that stands before what it names changes how that is shown', () => {
  for (const place of [{ record: 'r-5' }, { entry: '5-0' }]) {
    const scrub: LogRecord = { v: 1, t: 'scrub', id: 's', at: '', text: '[left out]', ...place };
    const named = userSays('named', { entry: '5-0' });
    const log = logOf([plain(0), plain(1), scrub, plain(2), plain(3), named, plain(5), plain(6)]);
    for (const length of [4, 6, 7, 8])
      expect(view(windowOf(log.slice(0, length)))).toEqual(whole(windowOf(log.slice(0, length))));
    expect(JSON.stringify(view(windowOf(log)))).toContain('[left out]');
  }
});

test('a message that an earlier view has shown is the same object in the next one', () => {
  const log = logOf(Array.from({ length: 41 }, (_, n) => plain(n)));
  const first = view(windowOf(log.slice(0, 39)));
  const second = view(windowOf(log));
  expect(second.slice(0, 38).every((message, at) => message === first[at])).toBe(true);
});
