import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { instantOf, readWall, wallOf, wallText } from '../../../../shared/base/wall-time.ts';
import { forAll } from '../../../fixture/texts.ts';

const at = (text: string) => Date.parse(`${text}Z`);
const instant = (wall: string, zone: string) => new Date(instantOf(at(wall), zone)).toISOString().slice(0, 16);

test.each([
  ['2026-03-29T02:00', 'Europe/Berlin', '2026-03-29T01:00'],
  ['2026-03-29T02:59', 'Europe/Berlin', '2026-03-29T01:00'],
  ['2026-03-08T02:30', 'America/New_York', '2026-03-08T07:00'],
  ['2026-10-04T02:10', 'Australia/Lord_Howe', '2026-10-03T15:30'],
])('%s does not exist in %s, and becomes the next time that does, %s in UTC', (wall, zone, utc) => {
  expect(instant(wall, zone)).toBe(utc);
});

test.each([
  ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30'],
  ['2026-11-01T01:30', 'America/New_York', '2026-11-01T05:30'],
])('%s exists twice in %s, and is the first of the two, %s in UTC', (wall, zone, utc) => {
  expect(instant(wall, zone)).toBe(utc);
});

test('every instant has a wall time, which leads back to it or to the first of two', () => {
  const zones = fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Asia/Taipei', 'Australia/Lord_Howe', 'UTC');
  forAll([fc.integer({ min: Date.UTC(2024), max: Date.UTC(2030) }), zones], (atMs, zone) => {
    const back = instantOf(wallOf(atMs, zone), zone);
    expect(wallOf(back, zone)).toBe(wallOf(atMs, zone));
    expect([0, 30, 60]).toContain((atMs - back) / 60_000);
  });
});

test.each(['2026-11-23T09:00', '2026-11-23 09:00', '2026-11-23T09:00:00'])('reads %s', (text) => {
  expect(wallText(readWall(text) ?? 0)).toBe('2026-11-23 09:00');
});

const NO_TIMES = '·tomorrow·09:00·2026-11-23·2026-02-30T09:00·2026-11-23T24:00·2026-11-23T09:00Z·2026-13-01T09:00';

test.each(NO_TIMES.split('·'))('%j is no time', (text) => {
  expect(readWall(text)).toBeUndefined();
});
