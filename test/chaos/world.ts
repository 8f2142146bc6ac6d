import type { Redis } from 'ioredis';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { temporaryBlobs } from '../fixture/blobs.ts';
import { pointedAt } from '../fixture/environment.ts';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { MANNERS } from '../fixture/manners.ts';
import { type ClaudeOptions, type ClaudeStandIn, startClaude } from '../stand-in/claude/server.ts';
import { startTelegram, type TelegramStandIn } from '../stand-in/telegram/server.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { type RedisProxy, startProxy } from './proxy.ts';
import { type ChaosRedis, startChaosRedis } from './redis.ts';
import { answers, FIRST_CHAT } from './traffic.ts';

/** The traffic of an hour comes in seconds. */
const UNPACED = { TELEGRAM_PACING: 'false', TOTAL_DAILY_USD: '999999' };

/** Everything around the gateways, and the gateways: each part can be hurt. */
export interface ChaosWorld {
  readonly claude: ClaudeStandIn;
  readonly telegram: TelegramStandIn;
  readonly redis: ChaosRedis;
  /** What its servers are started with. */
  readonly server: FoundRedisServer;
  /** What the gateways take for Redis. */
  readonly proxy: RedisProxy;
  readonly fleet: Fleet;
  /** A connection past the proxy, for looking at state from outside. */
  readonly peek: Redis;
  readonly keys: ReturnType<typeof keysOf>;
  /** Starts one more server, which ends with the world. */
  addServer(): Promise<ChaosRedis>;
  /** From now on this server is the one to look at: it has taken over. */
  follow(redis: ChaosRedis): void;
  /** Adds something that ends with the world. */
  add(part: { stop(): Promise<void>; abandon(): void }): void;
  close(): Promise<void>;
  /** Kills what runs in processes of their own, at once: for the end of this process. */
  abandon(): void;
}

/** How a world differs from a plain one. */
export interface WorldPlan {
  chats: number;
  claude?: ClaudeOptions;
  env?: Readonly<Record<string, string>>;
}

const worlds = new Set<ChaosWorld>();

/** Builds a world without a running gateway. `close` removes all of it. */
export async function createChaosWorld(server: FoundRedisServer, plan: WorldPlan): Promise<ChaosWorld> {
  const [claude, telegram, redis, blobs] = await Promise.all([
    startClaude({ ...MANNERS, ...plan.claude }),
    startTelegram(),
    startChaosRedis(server),
    temporaryBlobs(),
  ]);
  const proxy = await startProxy(redis.port);
  let peek = connectRedis(redis.url, 'patient');
  const more: { stop(): Promise<void>; abandon(): void }[] = [{ stop: () => blobs.remove(), abandon: () => {} }];
  telegram.openChat(ALERT_CHAT);
  claude.react(answers);
  const fleet = createFleet({
    ...pointedAt(telegram, claude),
    TELEGRAM_ALLOWED_IDS: Array.from({ length: plan.chats }, (_, index) => FIRST_CHAT + index).join(','),
    TELEGRAM_ALERT_CHAT_ID: String(ALERT_CHAT),
    REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
    ...{ ...UNPACED, ...blobs.env, ...plan.env },
  });
  const world: ChaosWorld = {
    claude,
    telegram,
    redis,
    server,
    proxy,
    fleet,
    get peek() {
      return peek;
    },
    keys: keysOf(0),
    async addServer() {
      const added = await startChaosRedis(server);
      more.push(added);
      return added;
    },
    follow(now) {
      peek.disconnect();
      peek = connectRedis(now.url, 'patient');
    },
    add: (part) => void more.push(part),
    async close() {
      worlds.delete(world);
      await fleet.stop();
      peek.disconnect();
      await proxy.close();
      await Promise.all([claude.close(), telegram.close(), redis.stop(), ...more.map((part) => part.stop())]);
    },
    abandon() {
      fleet.abandon();
      redis.abandon();
      for (const part of more) part.abandon();
    },
  };
  worlds.add(world);
  return world;
}

/** Kills whatever any world of this process started. */
export function abandonWorlds(): void {
  for (const world of worlds) world.abandon();
}
