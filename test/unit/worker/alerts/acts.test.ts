import { expect, test } from '@jest/globals';
import type { Alert, Cause } from '../../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../../shared/redis/keys.ts';
import { buttonsOf } from '../../../../worker/alerts/act.ts';
import { readIncident } from '../../../../worker/alerts/book-store.ts';
import { ALERT_WORDS } from '../../../../worker/alerts/causes/words.ts';
import { actsFor, CAUSES } from '../../../../worker/alerts/causes.ts';
import { type Incident, openingOf } from '../../../../worker/alerts/incident.ts';
import { messageOf } from '../../../../worker/alerts/message.ts';
import { ACTS } from '../../../../worker/operator/acts.ts';
import { condition, failure, opened, START } from '../../../fixture/incidents.ts';

const HOUR_MS = 3600_000;
const WAITING = { chat: '-1001234567890' as ChatKey, entry: '1795508127949-12345' as EntryId };
const causes = Object.keys(CAUSES) as Cause[];
const noted = (name: string) => ({ acts: { [name]: { by: 'Ann', atMs: START, entry: '1-1', result: 'done' } } });
const labels = (incident: Incident | undefined) =>
  incident &&
  buttonsOf(incident)
    .flat()
    .map(({ text }) => text);

test('an alert has six buttons at most, each with data that Telegram takes', () => {
  const incidents = opened();
  incidents.at(0, { conditions: [condition()] });
  for (const cause of causes) {
    incidents.change({ cause, waiting: WAITING, letters: { most: 3, left: 3 } });
    const buttons = buttonsOf(incidents.book().get('no-poll') as Incident).flat();
    expect(buttons.length).toBeLessThanOrEqual(6);
    for (const { command } of buttons) {
      expect(Buffer.byteLength(`${command} yes-${Math.floor(START / 1_000).toString(36)}`)).toBeLessThanOrEqual(64);
      expect(command).toMatch(/^\/desk act [\w-]{10} [a-z-]+(?: -?\d[\d.-]*)?$/);
    }
  }
});

test('every cause except a fact has a text for its end', () => {
  const facts = causes.filter((cause) => CAUSES[cause].endsBy === 'fact');
  expect(causes.filter((cause) => (CAUSES[cause].end ?? '') === '')).toEqual(facts);
});

test('a button that a text names has that label, among those that its cause offers', () => {
  const named = causes.flatMap((cause) =>
    [...(CAUSES[cause].todo ?? '').matchAll(/“([^”]*)”/g)].map(([, label]) => ({ cause, label })),
  );
  expect(named).toContainEqual({ cause: 'failed', label: ALERT_WORDS.acts.replay });
  const isOffered = (cause: Cause, label = '') => actsFor(cause).some((name) => ALERT_WORDS.acts[name] === label);
  expect(named.filter(({ cause, label }) => !isOffered(cause, label))).toEqual([]);
});

test('every act that a cause offers can be done', () => {
  expect(causes.flatMap(actsFor).filter((name) => ACTS[name] === undefined)).toEqual([]);
});

test.each<[string, Alert, Alert]>([
  [
    'a fact that was closed stays closed however often it is found, until it is another one',
    { cause: 'tools-omitted', key: 'web', level: 'a', text: '2 tools are left out.' },
    { cause: 'tools-omitted', key: 'web', level: 'b', text: '3 tools are left out.' },
  ],
  [
    'each alert that only another version understands rings, also after one of them was closed',
    { cause: 'other-version', key: 'alert', text: 'Not readable (1-0).' },
    { cause: 'other-version', key: 'alert', text: 'Not readable (2-0).' },
  ],
])('%s', (_, fact, other) => {
  const incidents = opened();
  incidents.at(0, { alerts: [fact] });
  incidents.change({ ...noted('close'), isOpen: false, endedMs: START });
  incidents.at(1, {});
  const before = incidents.rings().length;
  incidents.at(1_000, { alerts: [fact] });
  expect(incidents.rings()).toHaveLength(before);
  incidents.at(2_000, { alerts: [other] });
  expect(incidents.rings()).toHaveLength(before + 1);
});

test('an act that this version does not know stays with the incident, and is not shown', () => {
  const incidents = opened();
  incidents.at(0, { conditions: [condition()] });
  incidents.change(noted('snooze'));
  const incident = incidents.book().get('no-poll');
  const read = readIncident('no-poll', JSON.stringify(incident));
  expect(read).toEqual(incident);
  expect(messageOf(read as Incident).text).not.toMatch(/Ann/);
});

test('buttons name the same opening when the clock steps back, and another one when it opens again', () => {
  const incidents = opened();
  const opening = () => openingOf(incidents.book().get('failed') as Incident);
  incidents.at(0, { alerts: [failure(1)] });
  const first = opening();
  incidents.at(-2 * HOUR_MS, {});
  expect(opening()).toBe(first);
  incidents.at(-HOUR_MS, {});
  incidents.at(1, { alerts: [failure(1)] });
  expect(opening()).not.toBe(first);
});

test('messages that failed can be replayed or closed for a day after the end, while there are any', () => {
  const incidents = opened();
  const left = (number: number) => ({ letters: new Map([['failed', number]]) });
  incidents.at(0, { alerts: [failure(1)], ...left(1) });
  expect(labels(incidents.book().get('failed'))).toEqual(['Replay failed', 'Close']);
  incidents.at(HOUR_MS, left(1));
  expect(labels(incidents.book().get('failed'))).toEqual(['Replay failed', 'Close']);
  incidents.at(23 * HOUR_MS, left(0));
  expect(labels(incidents.book().get('failed'))).toEqual([]);
  incidents.at(26 * HOUR_MS, {});
  expect(incidents.book().size).toBe(0);
});
