import { expect, test } from '@jest/globals';
import { eachInWorld, mainCalls, spawn, world } from '../../fixture/each-test.ts';
import { HASTE } from '../../fixture/hasty.ts';
import { untilSettled } from '../../fixture/ledger.ts';

const GROUP = -1_002_000_000_001;
/** More than a group may get in a minute. */
const TOPICS = Array.from({ length: 22 }, (_, at) => 2 + at);
const LATER_MS = 20_000;

eachInWorld({
  telegram: { floods: () => Date.now() * HASTE },
  env: {
    TELEGRAM_ALLOWED_IDS: String(GROUP),
    TELEGRAM_PACING: 'true',
    // Neither process can answer all: each has its half.
    WORKER_CONCURRENCY: String(TOPICS.length / 2),
  },
});

test('two processes answer in the topics of one group at once: no call is refused, and all are answered', async () => {
  // Others that say nothing: so each of the two knows from its start that it is not alone.
  await world.peek.zadd(
    world.keys.workers,
    Date.now() + LATER_MS,
    'elsewhere 1 a',
    Date.now() + LATER_MS,
    'elsewhere 2 b',
  );
  // On a busy machine a process may stand still for longer than a hasty lock lasts; its message would be answered again.
  const patient = { TEST_LOCK_MS: '30000' };
  await Promise.all([spawn(patient), spawn(patient)]);
  const all = Promise.withResolvers<void>();
  world.claude.react(() => {
    if (mainCalls().length >= TOPICS.length) all.resolve();
    return { do: 'answer', after: all.promise };
  });
  for (const topicId of TOPICS) world.telegram.say(GROUP, 'hello', { topicId });
  const settled = await untilSettled(world, TOPICS.length);
  expect(settled.map(({ outcome }) => outcome)).toEqual(TOPICS.map(() => 'answered'));
  expect(world.telegram.calls.filter(({ status }) => status === 429)).toEqual([]);
  expect(TOPICS.map((topicId) => world.telegram.shown(GROUP, topicId).length)).toEqual(TOPICS.map(() => 1));
});
