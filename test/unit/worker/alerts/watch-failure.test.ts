import { expect, test } from '@jest/globals';
import { QUIET_MS } from '../../../../worker/alerts/incident.ts';
import { condition, failure, opened } from '../../../fixture/incidents.ts';

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
