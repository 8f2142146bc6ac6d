import { expect, test } from '@jest/globals';
import type { Alert } from '../../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../../shared/redis/keys.ts';
import type { NotedAct } from '../../../../worker/alerts/act.ts';
import { type Book, enter } from '../../../../worker/alerts/book.ts';
import { buttonsOf } from '../../../../worker/alerts/buttons.ts';
import { labelOf } from '../../../../worker/alerts/causes/acts.ts';
import { CAUSES } from '../../../../worker/alerts/causes.ts';
import { type Condition, type Incident, openingOf } from '../../../../worker/alerts/incident.ts';
import { ACTS, morningAfter } from '../../../../worker/desk/acts.ts';
import { condition, failure, START } from '../../../fixture/incidents.ts';

const HOUR_MS = 3600_000;
const WAITING = { chat: '-1001234567890' as ChatKey, entry: '1795508127949-12345' as EntryId };

/** A book that is written in step by step, with what operators do about its only incident. */
function kept(first: { alerts?: Alert[]; conditions?: Condition[] }) {
  let book: Book = new Map();
  const around = { hasOperators: true };
  const at = (ms: number, seen: { alerts?: readonly Alert[]; conditions?: readonly Condition[] } = {}) => {
    const entered = enter(book, { alerts: [], ...seen, nowMs: START + ms }, around);
    book = entered.book;
    return entered.notices.map(({ kind, manner = 'rings' }) => `${kind} ${manner}`);
  };
  at(0, first);
  const incident = () => [...book.values()][0] as Incident;
  const acted = (name: string, part: Partial<NotedAct> = {}) => {
    const noted = { n: 1, by: 'Ann', id: 1, atMs: START, entry: '1-1' as EntryId, result: 'done', ...part };
    const now = { ...incident(), acts: { ...incident().acts, [name]: noted } };
    book = new Map([...book].map(([id]) => [id, now]));
  };
  const change = (part: Partial<Incident>) => {
    book = new Map([...book].map(([id, each]) => [id, { ...each, ...part }]));
  };
  return { at, incident, acted, change };
}

test('an alert has six buttons at most, each with data that Telegram takes', () => {
  for (const [cause, { levels = {} }] of Object.entries(CAUSES))
    for (const level of ['', ...Object.keys(levels)]) {
      const { incident, change } = kept({ conditions: [condition()] });
      change({ cause: cause as Incident['cause'], level, waiting: WAITING, acts: {} });
      const buttons = buttonsOf(incident()).flat();
      expect(buttons.length).toBeLessThanOrEqual(6);
      for (const { command } of buttons) {
        expect(Buffer.byteLength(`${command} back-${Math.floor(START / 1_000).toString(36)}`)).toBeLessThanOrEqual(64);
        expect(command).toMatch(/^\/desk do [\w-]{10} [a-z-]+ 0(?: [0-9a-f]{6})?$/);
      }
    }
});

test('every act that a cause offers has a label and can be done', () => {
  const offered = new Set(Object.values(CAUSES).flatMap(({ acts }) => acts));
  expect([...offered].filter((name) => labelOf(name) === '' || ACTS[name] === undefined)).toEqual([]);
});

test('nothing of a snoozed incident rings but what gets worse and its end, and then it rings once', () => {
  const key = { cause: 'persistence' as const, text: 'It cannot write.' };
  const book = kept({ conditions: [{ ...key, level: 'aof' }] });
  book.acted('snooze', { untilMs: START + 5 * HOUR_MS });
  expect(book.at(2 * HOUR_MS, { conditions: [{ ...key, level: 'aof' }] })).toEqual(['lasts silent']);
  expect(book.at(3 * HOUR_MS, { conditions: [{ ...key, level: 'rdb' }] })).toEqual(['changed rings']);
  expect(book.at(5 * HOUR_MS, { conditions: [{ ...key, level: 'rdb' }] })).toEqual(['lasts rings']);
  expect(book.at(5 * HOUR_MS + 1, { conditions: [{ ...key, level: 'rdb' }] })).toEqual([]);
  book.acted('snooze', { untilMs: START + 9 * HOUR_MS, atMs: START + 5 * HOUR_MS });
  expect(book.at(6 * HOUR_MS, { conditions: [] })).toEqual(['resolved rings']);
});

test('who has taken an incident is not reminded for four hours, and hears that it has grown', () => {
  const book = kept({ conditions: [condition({ chats: 1 })] });
  book.acted('take');
  expect(book.at(2 * HOUR_MS, { conditions: [condition({ chats: 1 })] })).toEqual(['lasts silent']);
  expect(book.at(3 * HOUR_MS, { conditions: [condition({ chats: 20 })] })).toEqual(['grown rings']);
  expect(book.at(7 * HOUR_MS + 1, { conditions: [condition({ chats: 20 })] })).toEqual(['lasts rings']);
});

test('a snooze that lies ahead, since the clock stepped back, is none', () => {
  const book = kept({ conditions: [condition()] });
  book.acted('snooze', { atMs: START + 50 * HOUR_MS, untilMs: START + 51 * HOUR_MS });
  expect(book.at(2 * HOUR_MS, { conditions: [condition()] })).toEqual(['lasts rings']);
});

test('a fact that was closed stays closed however often it is found, until it is another one', () => {
  const fact: Alert = { cause: 'tools-omitted', key: 'web', level: 'a', text: '2 tools are left out.' };
  const book = kept({ alerts: [fact] });
  book.acted('close');
  // As it is written when somebody closes it.
  book.change({ isOpen: false, endedMs: START, notified: undefined } as never);
  expect(book.at(26 * HOUR_MS, { alerts: [fact] })).toEqual([]);
  expect(book.incident().isOpen).toBe(false);
  expect(book.at(27 * HOUR_MS, { alerts: [{ ...fact, level: 'b' }] })).toEqual(['opened rings']);
});

test('buttons name the same opening when the clock steps back, and another one when it opens again', () => {
  const book = kept({ alerts: [failure(1)] });
  const opening = openingOf(book.incident());
  book.at(-2 * HOUR_MS, {});
  expect(openingOf(book.incident())).toBe(opening);
  book.at(-HOUR_MS, {});
  book.at(1, { alerts: [failure(1)] });
  expect(openingOf(book.incident())).not.toBe(opening);
});

test('what failed can be put back for a day after the end, with nothing else to press', () => {
  const book = kept({ alerts: [failure(1)] });
  book.at(HOUR_MS, {});
  expect(buttonsOf(book.incident()).flat()).toMatchObject([{ text: 'Replay failed' }]);
  book.at(23 * HOUR_MS, {});
  expect(book.incident()).toBeDefined();
  book.at(26 * HOUR_MS, {});
  expect(book.incident()).toBeUndefined();
});

test.each([
  ['2026-11-25T06:42:00Z', 'UTC', '2026-11-25T08:00:00Z'],
  ['2026-11-25T08:00:00Z', 'UTC', '2026-11-26T08:00:00Z'],
  ['2026-11-25T06:42:00Z', 'Asia/Taipei', '2026-11-26T00:00:00Z'],
  ['2026-03-28T20:00:00Z', 'Europe/Berlin', '2026-03-29T06:00:00Z'],
])('the morning after %s in %s is %s', (now, zone, morning) => {
  expect(new Date(morningAfter(Date.parse(now), zone)).toISOString()).toBe(new Date(morning).toISOString());
});

test('each alert that only another version understands is told of, also after one of them was closed', () => {
  const unreadable = (n: number): Alert => ({ cause: 'other-version', key: 'alert', text: `Not readable (${n}-0).` });
  const book = kept({ alerts: [unreadable(1)] });
  book.acted('close');
  // As it is written when somebody closes it.
  book.change({ isOpen: false, endedMs: START, notified: undefined } as never);
  expect(book.at(1_000, { alerts: [unreadable(1)] })).toEqual([]);
  expect(book.at(2_000, { alerts: [unreadable(2)] })).toEqual(['reopened rings']);
});
