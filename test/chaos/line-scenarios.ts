/** What can happen to the line between a gateway and its Redis. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { readScript } from '../../shared/redis/script.ts';
import { midTraffic, type Scenario, type Stage, until } from './scenario.ts';

const PACE_MS = 15;
const TRAFFIC = { messages: 150, chats: 15, kinds: 'mixed' } as const;
const RESETS = 8;
const CUTS = 6;
/** The gateway's own patience with a silent socket is 8 seconds. */
const HALF_OPEN_MS = 16_000;

/** Starts two gateways, writes, and does one fault in the middle. */
async function under(stage: Stage, name: string, act: () => Promise<void>): Promise<void> {
  const { world, faults } = stage;
  await Promise.all([world.fleet.start(), world.fleet.start()]);
  await midTraffic(stage, PACE_MS, () => faults.during(name, ['send', 'overlap'], act));
}

const resets: Scenario = {
  name: 'line-reset',
  about: 'every connection to Redis is reset, eight times within two seconds',
  traffic: TRAFFIC,
  play: (stage) =>
    under(stage, 'resets', async () => {
      for (let reset = 0; reset < RESETS; reset++) {
        stage.world.proxy.resetAll();
        await pause(250);
      }
    }),
};

const lostReplies: Scenario = {
  name: 'line-loses-replies',
  about: 'for 2 seconds commands reach Redis and their replies do not; then the connections are reset',
  traffic: TRAFFIC,
  isInCut: true,
  play: (stage) =>
    under(stage, 'replies lost', async () => {
      stage.world.proxy.dropReplies();
      await pause(2_000);
      stage.world.proxy.forward();
    }),
};

const halfOpen: Scenario = {
  name: 'line-half-open',
  about: 'the connections that exist fall silent for ever without closing; new ones work',
  traffic: TRAFFIC,
  play: (stage) =>
    under(stage, 'half-open', async () => {
      const { proxy } = stage.world;
      const before = proxy.opened;
      proxy.blackHole();
      // The fault is over when the gateways have noticed it: they open connections of their own accord.
      await until('new connections', () => proxy.opened > before, HALF_OPEN_MS);
    }),
};

const slow: Scenario = {
  name: 'line-slow',
  about: 'for 4 seconds the line carries 40 KB a second and takes 60 ms each way',
  traffic: TRAFFIC,
  play: (stage) =>
    under(stage, 'slow', async () => {
      stage.world.proxy.slow({ bytesPerSecond: 40_000, latencyMs: 60 });
      await pause(4_000);
      stage.world.proxy.forward();
    }),
};

const partition: Scenario = {
  name: 'line-cut',
  about: 'for 4 seconds no connection to Redis can be made, while turns are under way',
  traffic: TRAFFIC,
  play: (stage) =>
    under(stage, 'partition', async () => {
      stage.world.proxy.refuse();
      await pause(4_000);
      stage.world.proxy.forward();
    }),
};

/** Cuts connections before the reply to one of our scripts, again and again, until nothing more is asked. */
async function cutReplies({ world, traffic, faults }: Stage, script: string, word: string): Promise<void> {
  const gateway = await world.fleet.start();
  // The script is known to Redis by its hash from then on.
  await traffic.pour({ messages: 2 });
  await until('the first outcomes', async () => (await world.peek.xlen(world.keys.outcomes)) >= 2);
  await faults.during(`replies to ${script} cut`, [], async () => {
    for (let cut = 0; cut < CUTS; cut++) {
      const done = world.proxy.cutReplyTo(word);
      await traffic.pour({ messages: 4, everyMs: PACE_MS });
      await Promise.race([done, gateway.ended]);
    }
  });
}

/** As ioredis names the beginning of an attempt to Redis. */
function hashOfBegin(): string {
  const source = readScript(join(PROJECT_ROOT, 'shared/state/turn/begin.lua'));
  return createHash('sha1').update(source).digest('hex');
}

const admitCut: Scenario = {
  name: 'line-cuts-admit',
  about:
    'the connection is cut before the reply to an admission, of a chat that writes once: only the reply says what was admitted',
  traffic: { messages: 26, chats: 10_000 },
  env: { TEST_RECONCILE_EVERY_MS: '120000' },
  // Its key is named by a call that is sent again with the whole script, too.
  play: (stage) => cutReplies(stage, 'admit', stage.world.keys.admitted('')),
};

const beginCut: Scenario = {
  name: 'line-cuts-begin',
  about: 'six times the connection is cut before the reply to the beginning of an attempt; a message has one attempt',
  traffic: { messages: 26, chats: 26 },
  env: { MAX_ATTEMPTS: '1' },
  play: (stage) => cutReplies(stage, 'begin', hashOfBegin()),
};

/** Everything about the line. */
export const LINE_SCENARIOS: readonly Scenario[] = [resets, lostReplies, halfOpen, slow, partition, admitCut, beginCut];
