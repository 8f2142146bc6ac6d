import { expect, test } from '@jest/globals';
import { FLOW_MUTANTS } from '../chaos/mutants.ts';
import { onRedis } from '../schedules/connection.ts';
import { explore, shrink } from '../schedules/explore.ts';
import { FINDABLE, OUTSIDE } from '../schedules/mutants.ts';
import { FAULTS } from '../schedules/plan.ts';
import { linesOf } from '../schedules/report.ts';
import { playSchedule } from '../schedules/schedule.ts';
import { surveyMutant } from '../schedules/survey.ts';

/** A hundred thousand of them, before a release: docs/evidence.md. */
const SCHEDULES = 3_000;
/** The rarest is found after some thousand. */
const MUTANT_SCHEDULES = 6_000;
const LONG_MS = 600_000;

test(
  'no order of the steps of intake, two workers and their reconcilers, no kill and no cut reply violates an invariant',
  async () => {
    const { explored, red } = await onRedis(async (redis) => {
      const explored = await explore(redis, { seed: 1, count: SCHEDULES, untilRed: true });
      return { explored, red: explored.firstRed && (await shrink(redis, explored.firstRed)) };
    });
    if (red) throw new Error(linesOf(explored, red).join('\n'));
    expect(explored.played).toBe(SCHEDULES);
    // Short schedules with few faults are sometimes equal.
    expect(explored.traces).toBeGreaterThan(SCHEDULES * 0.8);
    expect(explored.faults.size).toBe(FAULTS.length);
  },
  LONG_MS,
);

test('the same seed plays the same steps, alone or beside others, in any shard', async () => {
  const seeds = Array.from({ length: 64 }, (_, at) => 1 + at);
  await onRedis(async (redis) => {
    const together = await Promise.all(seeds.map((seed, at) => playSchedule(redis, at, seed)));
    expect(together.flatMap(({ faults }) => faults).length).toBeGreaterThan(seeds.length);
    for (const [at, { trace }] of together.entries()) {
      await redis.flushall();
      expect((await playSchedule(redis, 100, seeds[at] ?? 0)).trace).toEqual(trace);
    }
  });
});

test.each(FINDABLE.map((mutant) => [mutant.name, mutant] as const))(
  'a schedule is red when %s',
  async (_name, mutant) => {
    const { found, printed } = await surveyMutant(mutant, mutant.fromSeed ?? 1, MUTANT_SCHEDULES);
    expect({ found, printed }).toMatchObject({ found: { seen: expect.any(String) } });
  },
  LONG_MS,
);

test('each mutant of the fault-injection suite is found, or it is said why it lies outside', () => {
  const decided = new Set([...FINDABLE, ...OUTSIDE].map(({ name }) => name));
  expect(FLOW_MUTANTS.filter(({ name }) => !decided.has(name))).toEqual([]);
  expect(OUTSIDE.length).toBeLessThan(FINDABLE.length);
});
