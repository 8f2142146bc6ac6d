/** What can happen to Redis itself. */
import { setTimeout as pause } from 'node:timers/promises';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { settledOutcomes } from '../fixture/ledger.ts';
import { randomInt } from '../fixture/random.ts';
import { entriesOf } from './evidence.ts';
import { midTraffic, PACE_MS, type Scenario, type Stage, until, untilIdle, untilShare } from './scenario.ts';

const IDLE_MS = 30_000;
const ROOM_BYTES = 40_000;
/** The operator is told once an hour that Redis knows less than it did. */
export const LOSS_RULES = { alertsMin: 1, alertsMax: 2, alertLike: /^Redis lost data: /m };
const ALERT_MS = 10_000;

/** Kills Redis and brings it back, as a supervisor does. */
export async function killRedis({ world, faults, random }: Stage): Promise<void> {
  await faults.during('Redis killed', ['send', 'overlap'], async () => {
    world.redis.kill9();
    await pause(randomInt(random, 500));
    await world.redis.restart();
  });
}

const killed: Scenario = {
  name: 'redis-killed',
  about: 'Redis is killed (SIGKILL) three times under load and restarted on its file',
  traffic: { messages: 150, chats: 15, kinds: 'mixed' },
  isInCut: true,
  async play(stage) {
    await stage.world.fleet.start();
    await midTraffic(stage, PACE_MS, () => killRedis(stage), [0.25, 0.5, 0.75]);
  },
};

const frozen: Scenario = {
  name: 'redis-frozen',
  about: 'Redis is stopped (SIGSTOP) for 4 seconds, longer than a lock, with two gateways',
  traffic: { messages: 120, chats: 12 },
  async play(stage) {
    const { world, faults } = stage;
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    const freeze = async () => {
      world.redis.freeze();
      await pause(4_000);
      world.redis.thaw();
    };
    await midTraffic(stage, PACE_MS, () => faults.during('Redis frozen', ['send', 'overlap'], freeze));
  },
};

const tailCut: Scenario = {
  name: 'redis-tail-cut',
  about:
    'Redis loses the end of its file, as in a power loss: what it still knows is settled, the rest is counted and told',
  traffic: { messages: 150, chats: 15 },
  rules: LOSS_RULES,
  async play(stage) {
    const { world, traffic, faults, random } = stage;
    await world.fleet.start();
    await traffic.pour({ messages: 60, everyMs: PACE_MS });
    const kept = await world.redis.appendedBytes();
    await traffic.pour({ messages: 30, everyMs: PACE_MS });
    await untilReconciled(stage);
    await traffic.pour({ messages: 10 });
    await until('a call of the model', () => world.claude.inFlight() > 0);
    // The cut goes through the middle of a write.
    await faults.during('Redis loses its tail', ['send', 'overlap'], () =>
      cutTail(stage, (appended) => appended - kept - randomInt(random, 3_000)),
    );
    await untilAlert(stage);
    await traffic.pour({ everyMs: PACE_MS });
  },
};

const tailClipped: Scenario = {
  name: 'redis-tail-clipped',
  about:
    'Redis loses the last writes of its file under load, in the middle of turns: their next steps meet what is left',
  traffic: { messages: 150, chats: 15 },
  // It may be that no accepted message is lost, and then there is nothing to tell.
  rules: { ...LOSS_RULES, alertsMin: 0 },
  async play(stage) {
    const { world, traffic, faults, random } = stage;
    await world.fleet.start();
    const pouring = traffic.pour({ everyMs: PACE_MS });
    await untilShare(stage, 0.6);
    await faults.during('Redis loses its last writes', ['send', 'overlap'], () =>
      cutTail(stage, () => 3_000 + randomInt(random, 6_000)),
    );
    await pouring;
  },
};

/** Resolves when all that was written is accepted, and a whole pass of the reconciler has seen it. */
export async function untilReconciled({ world, traffic }: Stage): Promise<void> {
  const passes = async (): Promise<number> =>
    Number(/cmdstat_xpending:calls=(\d+)/.exec(await world.peek.info('commandstats'))?.[1] ?? 0);
  await until('all to be accepted', async () => (await entriesOf(world, traffic.asked)).size === traffic.asked.length);
  const before = await passes();
  await until('a pass of the reconciler', async () => (await passes()) >= before + 2);
}

/** Nobody may write between the look before the cut and the one after it, so the line is down meanwhile. */
async function cutTail(stage: Stage, bytesOf: (appended: number) => number): Promise<void> {
  const { world } = stage;
  world.proxy.refuse();
  world.redis.kill9();
  await world.redis.restart();
  const before = await known(stage);
  world.redis.kill9();
  await world.redis.cutTail(bytesOf(await world.redis.appendedBytes()));
  await world.redis.restart();
  await noteCut(stage, before);
  world.proxy.forward();
}

/** Updates that Redis knows as accepted, and as settled. */
interface Known {
  accepted: Set<number>;
  settled: Set<number>;
}

/** Notes what Redis knew before, and does not know now. */
export async function noteCut(stage: Stage, before: Known): Promise<void> {
  const now = await known(stage);
  const missing = (kind: keyof Known) => new Set([...before[kind]].filter((updateId) => !now[kind].has(updateId)));
  stage.cut = { accepts: missing('accepted'), outcomes: missing('settled') };
}

/** Nothing is accepted until the operator is told, since that would hide the loss; the judge sees that no alert came. */
export async function untilAlert({ world: { telegram } }: Stage): Promise<void> {
  await until('an alert', () => telegram.shown(ALERT_CHAT).length > 0, ALERT_MS).catch(() => undefined);
}

/** Which updates Redis knows. */
export async function known({ world, traffic }: Stage): Promise<Known> {
  const [entries, ledger] = await Promise.all([entriesOf(world, traffic.asked), settledOutcomes(world)]);
  const done = new Set<string>(ledger.map(({ entry }) => entry));
  const settled = [...entries].filter(([, entry]) => done.has(entry)).map(([updateId]) => updateId);
  return { accepted: new Set(entries.keys()), settled: new Set(settled) };
}

const outOfMemory: Scenario = {
  name: 'redis-out-of-memory',
  about: 'Redis fills up in the middle of a burst, twice: for less than a lease of the poller lasts, and for longer',
  traffic: { messages: 240, chats: 24, kinds: 'mixed' },
  // A look may fall into it, or not.
  rules: { alertsMax: 2, alertLike: /^Redis is nearly full|^Resolved: Redis has room/m },
  async play(stage) {
    const { world, traffic } = stage;
    await world.fleet.start();
    await traffic.pour({ messages: 40, everyMs: PACE_MS });
    for (const lastMs of [1_000, 3_000]) {
      await fillUp(stage, lastMs);
      if (!(await untilIdle(world, Date.now() + IDLE_MS))) throw new Error('A burst is not settled.');
    }
    await traffic.pour({ everyMs: PACE_MS });
  },
};

/** Leaves room for some messages of a batch and not for all, so that storing one fails after others were stored. */
async function fillUp({ world, traffic, faults }: Stage, lastMs: number): Promise<void> {
  await faults.during('Redis out of memory', ['send', 'overlap'], async () => {
    const used = Number(/used_memory:(\d+)/.exec(await world.peek.info('memory'))?.[1]);
    await world.peek.config('SET', 'maxmemory', String(used + ROOM_BYTES));
    await traffic.pour({ messages: 80 });
    await pause(lastMs);
    await world.peek.config('SET', 'maxmemory', '0');
  });
}

const diskFull: Scenario = {
  name: 'redis-disk-full',
  about: 'the disk of Redis is full for 3 seconds: every write is refused (MISCONF), then there is room again',
  traffic: { messages: 120, chats: 12 },
  // A look may fall into it, or not.
  rules: { alertsMax: 2, alertLike: /^Redis cannot write its files|^Resolved: Redis keeps its data on disk/m },
  async play(stage) {
    const { world, faults } = stage;
    await world.fleet.start();
    const fill = async () => {
      await world.redis.limitFiles((await world.redis.appendedBytes()) + 1);
      await pause(3_000);
      await world.redis.limitFiles('unlimited');
    };
    await midTraffic(stage, PACE_MS, () => faults.during('disk full', ['send', 'overlap'], fill));
  },
};

const flushed: Scenario = {
  name: 'redis-flushed',
  about:
    'Redis forgets everything (FLUSHALL) between two halves of the messages: the second half is answered all the same',
  traffic: { messages: 120, chats: 12 },
  rules: LOSS_RULES,
  async play(stage) {
    const { world, traffic, faults } = stage;
    await world.fleet.start();
    await traffic.pour({ messages: traffic.planned / 2, everyMs: PACE_MS });
    if (!(await untilIdle(world, Date.now() + IDLE_MS))) throw new Error('The first half is not settled.');
    await untilReconciled(stage);
    const before = await known(stage);
    await faults.during('Redis flushed', [], () => world.peek.flushall());
    // What was settled is forgotten with the rest, so only the chats can tell of it.
    stage.cut = { accepts: before.accepted, outcomes: before.settled };
    await traffic.pour({ everyMs: PACE_MS });
  },
};

/** Everything about Redis as a process with a file. */
export const REDIS_SCENARIOS: readonly Scenario[] = [
  killed,
  frozen,
  tailCut,
  tailClipped,
  outOfMemory,
  diskFull,
  flushed,
];
