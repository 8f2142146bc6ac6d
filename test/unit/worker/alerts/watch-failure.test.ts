import { expect, test } from '@jest/globals';
import { QUIET_MS } from '../../../../worker/alerts/incident.ts';
import { condition, failure, opened } from '../../../fixture/incidents.ts';

test('what cannot be entered is an incident of its own, and everything else is entered', () => {
  const incidents = opened();
  const bad = condition({ cause: 'unanswered', messages: 3, sinceMs: Number.NaN });
  incidents.at(0, { alerts: [failure(1)], conditions: [bad, condition()] });
  incidents.at(1_000, { conditions: [bad, condition()] });
  expect(incidents.all.map(({ incident }) => incident).sort()).toEqual(['failed', 'no-poll', 'watcher']);
  expect(incidents.all.find(({ incident }) => incident === 'watcher')?.text).toMatch(
    /^A part of the watch fails: "unanswered" goes unnoticed \(RangeError\)/m,
  );
  incidents.at(2_000, { conditions: [condition()] });
  expect(incidents.all.at(-1)?.text).toMatch(/^Resolved: the watch is whole again/);
});

test('an incident is not over because its rule could not be checked', () => {
  const incidents = opened();
  incidents.at(0, { conditions: [condition()] });
  const failures = [{ what: 'no-poll', error: new TypeError('…') }];
  incidents.at(1_000, { conditions: [], failures });
  incidents.at(2_000, {});
  expect(incidents.rings()).toHaveLength(2);
  expect(incidents.book().get('no-poll')).toMatchObject({ isOpen: true });
  incidents.at(3_000, { conditions: [] });
  const ended = incidents.all.slice(2).map(({ incident }) => incident);
  expect(ended.sort()).toEqual(['no-poll', 'watcher']);
});

test('a look at the alerts alone opens the incident of the watch, and neither changes nor ends it', () => {
  const incidents = opened();
  const of = (what: string) => ({ what, error: new TypeError('…') });
  incidents.at(0, { failures: [of('alerts of shard 0')] });
  incidents.at(10_000, { conditions: [], failures: [of('idle'), of('alerts of shard 0')] });
  for (let at = 20_000; at < 60_000; at += 10_000) {
    incidents.at(at, { failures: [of('alerts of shard 0')] });
    incidents.at(at + 1, { conditions: [], failures: [of('idle'), of('alerts of shard 0')] });
  }
  expect(incidents.all).toHaveLength(2);
  expect(incidents.rings()).toHaveLength(1);
});

test('a clock that steps back by an hour neither silences an open incident nor keeps it open for that long', () => {
  const incidents = opened();
  const hour = 3600_000;
  incidents.at(hour, { alerts: [failure(1)], conditions: [condition({ cause: 'provider', level: 'overloaded' })] });
  incidents.at(0, { alerts: [failure(2)], conditions: [condition({ cause: 'provider', level: 'auth' })] });
  incidents.at(61_000, { conditions: [condition({ cause: 'provider', level: 'auth' })] });
  expect(incidents.all.map(({ incident }) => incident)).toEqual(['provider', 'provider']);
  incidents.at(62_000 + QUIET_MS, { conditions: [] });
  expect([...incidents.book().values()].map(({ isOpen }) => isOpen)).toEqual([false, false]);
});
