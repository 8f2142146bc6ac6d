/** What can happen when one Redis takes over from another. */
import { setTimeout as pause } from 'node:timers/promises';
import { programPath } from '../../shared/base/settings.ts';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { demote, MASTER, promote, replicate, startSentinels, untilCaughtUp } from '../fixture/replicas.ts';
import { findValkey } from '../fixture/valkey.ts';
import { awaitAgain } from './hearing.ts';
import { startProxy } from './proxy.ts';
import type { ChaosRedis } from './redis.ts';
import { known, LOSS_RULES, noteCut, untilAlert, untilReconciled } from './redis-scenarios.ts';
import { midTraffic, PACE_MS, type Scenario, type Stage, until } from './scenario.ts';

const TRAFFIC = { messages: 90, chats: 15, kinds: 'mixed' } as const;
/** How long a failover may keep the gateway from going on. */
const AWAY_MS_MAX = 10_000;
/** What the keys of a few dozen messages take to load at this pace: some seconds. */
const LOADING_US_PER_KEY = 4_000;

/** Starts a gateway, writes, and lets a standby take over in the middle. */
async function failOver(
  stage: Stage,
  name: string,
  takeOver: (standby: ChaosRedis) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const { world, faults } = stage;
  const standby = await world.addServer();
  await replicate(standby, world.redis);
  await world.fleet.start(env);
  await midTraffic(stage, PACE_MS, async () => {
    await faults.during(name, ['send', 'overlap'], () => takeOver(standby));
    world.follow(standby);
    await goesOn(stage);
  });
}

/** Starts a gateway, writes, and lets the only server refuse for a while in the middle. */
async function refusing(stage: Stage, name: string, act: () => Promise<void>): Promise<void> {
  await stage.world.fleet.start();
  await midTraffic(stage, PACE_MS, async () => {
    await stage.faults.during(name, ['send', 'overlap'], act);
    await goesOn(stage);
  });
}

/** What is written from now on is taken, and answers are shown. */
async function goesOn(stage: Stage): Promise<void> {
  const { telegram } = stage.world;
  const sinceMs = Date.now();
  const before = telegram.confirmedUpTo();
  const answers = () =>
    telegram.calls.some(
      ({ method, params, at, status }) =>
        method === 'sendMessage' && Number(params.chat_id) !== ALERT_CHAT && at > sinceMs && status === 200,
    );
  const look = () => telegram.confirmedUpTo() > before && answers();
  await awaitAgain(stage, { what: 'an answer after the failover', maxMs: AWAY_MS_MAX, sinceMs }, look);
}

/** Nothing that was acknowledged may be missing, so nobody writes while the replica catches up. */
async function inTime({ world }: Stage): Promise<void> {
  world.proxy.refuse();
  await untilCaughtUp(world.redis);
}

const killed: Scenario = {
  name: 'failover-killed',
  about: 'the primary is killed, and its replica takes over behind the same address a second later: nothing is lost',
  traffic: TRAFFIC,
  play: (stage) =>
    failOver(stage, 'primary killed', async (standby) => {
      const { world } = stage;
      await inTime(stage);
      world.redis.kill9();
      // For a while the address leads to what is still a replica.
      world.proxy.pointAt(standby.port);
      world.proxy.forward();
      await pause(1_000);
      await promote(standby);
    }),
};

/** The old primary becomes a replica of the new one between two commands: what it acknowledged is copied by then. */
async function demotePrimary({ world }: Stage, standby: ChaosRedis): Promise<void> {
  await world.peek.client('PAUSE', 10_000, 'WRITE');
  await untilCaughtUp(world.redis);
  await promote(standby);
  await demote(world.redis, standby);
  world.proxy.pointAt(standby.port);
  await world.peek.client('UNPAUSE');
}

const demoted: Scenario = {
  name: 'failover-demoted',
  about:
    'the primary becomes a replica and keeps its sockets open, under load: writes are refused (READONLY) until it is left',
  traffic: TRAFFIC,
  play: (stage) => failOver(stage, 'primary demoted', (standby) => demotePrimary(stage, standby)),
};

const lossy: Scenario = {
  name: 'failover-lossy',
  about:
    'the primary dies before its replica has what it acknowledged last: the rest is settled, what is lost is counted and told',
  traffic: { messages: 120, chats: 15 },
  rules: LOSS_RULES,
  async play(stage) {
    const { world, traffic, faults } = stage;
    const standby = await world.addServer();
    const line = await startProxy(world.redis.port);
    world.add({ stop: () => line.close(), abandon() {} });
    await replicate(standby, line);
    await world.fleet.start();
    await traffic.pour({ messages: 50, everyMs: PACE_MS });
    await untilCaughtUp(world.redis);
    line.refuse();
    await traffic.pour({ messages: 30, everyMs: PACE_MS });
    await untilReconciled(stage);
    await faults.during('primary lost with its last writes', ['send', 'overlap'], async () => {
      world.proxy.refuse();
      const before = await known(stage);
      world.redis.kill9();
      await promote(standby);
      world.follow(standby);
      await noteCut(stage, before);
      world.proxy.pointAt(standby.port);
      world.proxy.forward();
    });
    await untilAlert(stage);
    const pouring = traffic.pour({ everyMs: PACE_MS });
    await goesOn(stage);
    await pouring;
  },
};

const sentinel: Scenario = {
  name: 'failover-sentinel',
  about:
    'three sentinels watch the primary, which is frozen and never comes back: they promote its replica, and the gateway goes there',
  traffic: TRAFFIC,
  async play(stage) {
    const { world, traffic, faults } = stage;
    const standby = await world.addServer();
    await replicate(standby, world.redis);
    const sentinels = await startSentinels(world.redis, { server: world.server });
    world.add(sentinels);
    // They tell addresses of servers, so the proxy is not between.
    await world.fleet.start({ REDIS_URL: '', REDIS_SENTINELS: sentinels.list, REDIS_SENTINEL_MASTER: MASTER });
    await traffic.pour({ messages: 40, everyMs: PACE_MS });
    await until('all to be settled', async () => (await world.peek.xlen(world.keys.inbound)) === 0);
    await untilCaughtUp(world.redis);
    await faults.during('primary frozen', ['send', 'overlap'], async () => {
      world.redis.freeze();
      await until('a new primary', async () => (await sentinels.primary()) === standby.port);
    });
    world.follow(standby);
    const pouring = traffic.pour({ everyMs: PACE_MS });
    await goesOn(stage);
    await pouring;
  },
};

const loading: Scenario = {
  name: 'redis-loading',
  about: 'Redis is killed and takes some seconds to load its data (LOADING): it is waited for',
  traffic: TRAFFIC,
  async play(stage) {
    const { world } = stage;
    await refusing(stage, 'Redis loading', async () => {
      world.redis.kill9();
      await world.redis.restart(LOADING_US_PER_KEY);
    });
  },
};

const withoutReplicas: Scenario = {
  name: 'redis-without-replicas',
  about: 'for 3 seconds the primary has too few replicas and refuses every write (NOREPLICAS)',
  traffic: TRAFFIC,
  async play(stage) {
    const { world } = stage;
    await refusing(stage, 'too few replicas', async () => {
      await world.peek.config('SET', 'min-replicas-to-write', '1');
      await pause(3_000);
      await world.peek.config('SET', 'min-replicas-to-write', '0');
    });
  },
};

const NO_VALKEY = 'no valkey-server on the PATH or under .cache/valkey (docs/testing.md says how to get one)';

const valkey: Scenario = {
  ...demoted,
  name: 'failover-valkey',
  about: 'as failover-demoted, on two servers of Valkey',
  serverLike: async (usual) => (await findValkey(usual, programPath())) ?? NO_VALKEY,
};

/** Everything about one Redis that takes over from another. */
export const FAILOVER_SCENARIOS: readonly Scenario[] = [
  killed,
  demoted,
  lossy,
  sentinel,
  loading,
  withoutReplicas,
  valkey,
];
