/** What can happen to the jobs of the queue. */

import { jobsIn } from '../fixture/job-keys.ts';
import { type Scenario, type Stage, until } from './scenario.ts';

const TORN_OUT = 4;

/** Takes jobs out of the list in which they wait, and leaves the rest of them where it is. */
async function tearOut({ world }: Stage): Promise<void> {
  const waiting = jobsIn(world.keys, 'wait');
  const ids = await world.peek.lrange(waiting, 0, TORN_OUT - 1);
  for (const id of ids) await world.peek.lrem(waiting, 0, id);
}

const listless: Scenario = {
  name: 'job-without-list',
  about: 'jobs that wait are taken out of the list in which BullMQ looks for them, and their hashes stay',
  traffic: { messages: 40, chats: 20 },
  env: { WORKER_CONCURRENCY: '2' },
  async play(stage) {
    const { world, traffic, faults } = stage;
    await world.fleet.start();
    await traffic.pour();
    await until('jobs that wait', async () => (await world.peek.llen(jobsIn(world.keys, 'wait'))) >= TORN_OUT);
    await faults.during('jobs torn out of their list', [], () => tearOut(stage));
  },
};

/** Everything about jobs. */
export const JOB_SCENARIOS: readonly Scenario[] = [listless];
