import { expect, test } from '@jest/globals';
import type { Alert } from '../../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../../shared/redis/keys.ts';
import type { NotedAct } from '../../../../worker/alerts/act.ts';
import { type Book, enter } from '../../../../worker/alerts/book.ts';
import { readIncident } from '../../../../worker/alerts/book-store.ts';
import { buttonsOf } from '../../../../worker/alerts/buttons.ts';
import { labelOf } from '../../../../worker/alerts/causes/acts.ts';
import { actsFor, CAUSES } from '../../../../worker/alerts/causes.ts';
import { type Condition, type Incident, openingOf } from '../../../../worker/alerts/incident.ts';
import { pageOf } from '../../../../worker/alerts/notice-text.ts';
import { ACTS } from '../../../../worker/desk/acts.ts';
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
  const offered = new Set(
    (Object.keys(CAUSES) as Incident['cause'][]).flatMap((cause) => actsFor({ cause, level: '' })),
  );
  expect([...offered].filter((name) => labelOf(name) === '' || ACTS[name] === undefined)).toEqual([]);
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

test('an act that this version does not know stays with the incident, and is not shown', () => {
  const book = kept({ conditions: [condition()] });
  for (const name of ['take', 'snooze']) book.acted(name, { result: 'Ann works on this', untilMs: START } as never);
  const read = readIncident('no-poll', JSON.stringify(book.incident()));
  expect(read).toEqual(book.incident());
  expect(pageOf(read as Incident).text).not.toMatch(/Ann/);
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

test('each alert that only another version understands is told of, also after one of them was closed', () => {
  const unreadable = (n: number): Alert => ({ cause: 'other-version', key: 'alert', text: `Not readable (${n}-0).` });
  const book = kept({ alerts: [unreadable(1)] });
  book.acted('close');
  // As it is written when somebody closes it.
  book.change({ isOpen: false, endedMs: START, notified: undefined } as never);
  expect(book.at(1_000, { alerts: [unreadable(1)] })).toEqual([]);
  expect(book.at(2_000, { alerts: [unreadable(2)] })).toEqual(['reopened rings']);
});
