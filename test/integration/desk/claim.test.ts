import { expect, test } from '@jest/globals';
import { readConfig } from '../../../shared/base/config.ts';
import type { EntryId } from '../../../shared/redis/keys.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { type Incident, openingOf } from '../../../worker/alerts/incident.ts';
import { claim } from '../../../worker/desk/claim.ts';
import type { DeskPorts } from '../../../worker/desk/desk.ts';
import { alertOf, eachWithAlerter, entered } from '../../fixture/each-alerter.ts';
import { redis } from '../../fixture/each-redis.ts';

eachWithAlerter();

function closing(incident: Incident, at: number) {
  const reading = readConfig({}, 'tool');
  if (!reading.ok) throw new Error(reading.problems.join());
  const ports = { redis, shards: 1, config: reading.config } as DeskPorts;
  const press = {
    opening: openingOf(incident),
    name: 'close',
    n: 0,
    tag: '',
    by: 'Ann',
    id: 7,
    isRepeated: false,
  } as const;
  return claim(ports, { ...press, entry: `${at}-0` as EntryId, atMs: Date.now() });
}

test('of many presses at once each is noted', async () => {
  await entered(...[1, 2, 3, 4, 5].map((n) => alertOf(n)));
  const incidents = [...(await createBookStore(redis).read()).book.values()];
  const claimed = await Promise.all(incidents.map(closing));
  expect(claimed).toEqual(incidents.map(() => expect.objectContaining({ noted: expect.objectContaining({ n: 1 }) })));
});
