/** Faults of the line between a gateway and its Redis. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { readScript } from '../../shared/redis/script.ts';
import type { RedisProxy } from './proxy.ts';
import { midTraffic, PACE_MS, type Scenario, type Stage, until } from './scenario.ts';

const TRAFFIC = { messages: 150, chats: 15, kinds: 'mixed' } as const;
const RESETS = 8;
const CUTS = 6;
/** Twice the gateway's own patience with a silent socket. */
const HALF_OPEN_MS = 16_000;

/** Two gateways under load, and one fault of the line in the middle. */
function faulty(name: string, about: string, act: (proxy: RedisProxy) => Promise<void>): Scenario {
  return {
    name,
    about,
    traffic: TRAFFIC,
    async play(stage) {
      const { world, faults } = stage;
      await Promise.all([world.fleet.start(), world.fleet.start()]);
      await midTraffic(stage, PACE_MS, () => faults.during(name, ['send', 'overlap'], () => act(world.proxy)));
    },
  };
}

/** The same with a fault that lasts for so long. */
function faultyFor(ms: number, name: string, about: string, begin: (proxy: RedisProxy) => void): Scenario {
  return faulty(name, about, async (proxy) => {
    begin(proxy);
    await pause(ms);
    proxy.forward();
  });
}

const resets = faulty('line-reset', 'every connection to Redis is reset, eight times in two seconds', async (proxy) => {
  for (let reset = 0; reset < RESETS; reset++) {
    proxy.resetAll();
    await pause(250);
  }
});

const LOST = 'for 2 seconds commands reach Redis and their replies do not; then the connections are reset';
const lostReplies = { ...faultyFor(2_000, 'line-loses-replies', LOST, (proxy) => proxy.dropReplies()), isInCut: true };

const SILENT = 'the connections that exist fall silent for ever without closing; new ones work';
const halfOpen = faulty('line-half-open', SILENT, async (proxy) => {
  const before = proxy.opened;
  proxy.blackHole();
  await until('new connections', () => proxy.opened > before, HALF_OPEN_MS);
  // The fault lasts until the gateways have noticed it at each connection. One that is not used is never noticed.
  await until('the end of the silent ones', () => proxy.silent === 0, HALF_OPEN_MS).catch(() => undefined);
});

const SLOW = 'for 4 seconds the line carries 40 KB a second and takes 60 ms each way';
const slow = faultyFor(4_000, 'line-slow', SLOW, (proxy) => proxy.slow({ bytesPerSecond: 40_000, latencyMs: 60 }));

const CUT = 'for 4 seconds no connection to Redis can be made, while turns are under way';
const partition = faultyFor(4_000, 'line-cut', CUT, (proxy) => proxy.refuse());

/** Cuts the connection before the reply to one of our scripts, again and again. */
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
