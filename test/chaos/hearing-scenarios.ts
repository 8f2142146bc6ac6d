/** A gateway that must not be deaf: who polls dies, and a bot to which nobody writes starts. */
import { LEASE_LASTS_MS } from '../../producer/receive/lease.ts';
import { portOf } from '../fixture/process.ts';
import { awaitAgain } from './hearing.ts';
import { PACE_MS, type Scenario, type Stage, until, untilShare } from './scenario.ts';

/** How long the gateway may be deaf. */
const DEAF_MS_MAX = 3_000;
/** After its poller was killed, whose lease must run out first. */
const DEAF_AFTER_KILL_MS_MAX = 6_000;

const succeeded: Scenario = {
  name: 'gateway-succeeded',
  about: 'the gateway that polls is killed (SIGKILL), twice: the next one polls in 6 seconds',
  traffic: { messages: 90, chats: 15 },
  env: { TEST_LEASE_LASTS_MS: String(LEASE_LASTS_MS) },
  isInCut: true,
  async play(stage) {
    const { world, traffic, faults } = stage;
    await world.fleet.start();
    await until('a poll', () => answeredPolls(stage, 0) > 0);
    await world.fleet.start();
    const pouring = traffic.pour({ everyMs: PACE_MS });
    for (const share of [0.3, 0.6]) {
      await untilShare(stage, share);
      // The one that was started first polls: the other has only ever waited.
      const [victim] = world.fleet.running;
      const sinceMs = Date.now();
      await faults.during('poller killed', ['send', 'overlap'], () => victim && world.fleet.kill(victim));
      const look = () => answeredPolls(stage, sinceMs) > 0;
      await awaitAgain(stage, { what: 'a poll', maxMs: DEAF_AFTER_KILL_MS_MAX, sinceMs }, look);
      await world.fleet.start();
    }
    await pouring;
  },
};

function answeredPolls({ world }: Stage, sinceMs: number): number {
  return world.telegram.calls.filter(
    ({ method, at, status, endedAt }) =>
      method === 'getUpdates' && at > sinceMs && (status === 200 || endedAt === undefined),
  ).length;
}

const quiet: Scenario = {
  name: 'gateway-quiet-start',
  about: 'a gateway starts while nobody writes: it is ready with its first poll, and takes what comes then',
  traffic: { messages: 20, chats: 5 },
  async play(stage) {
    const { world, traffic } = stage;
    const sinceMs = Date.now();
    const gateway = await world.fleet.start();
    const ready = async () => {
      const response = await fetch(`http://127.0.0.1:${portOf(gateway)}/readyz`);
      await response.body?.cancel();
      return response.ok;
    };
    await awaitAgain(stage, { what: 'a gateway that is ready', maxMs: DEAF_MS_MAX, sinceMs }, ready);
    await traffic.pour({ everyMs: PACE_MS });
  },
};

/** Everything about how soon the gateway hears. */
export const HEARING_SCENARIOS: readonly Scenario[] = [succeeded, quiet];
