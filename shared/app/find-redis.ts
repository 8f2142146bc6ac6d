import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { HOME } from '../base/project.ts';
import { type RedisAddress, redisAddressOf } from '../base/redis-address.ts';
import { programPath, type Settings } from '../base/settings.ts';
import { findRedisServer, type NoRedisServer, type RedisServerOptions } from '../private-redis/install.ts';
import { findRunning, urlOf } from '../private-redis/running-server.ts';
import { type PrivateRedis, type PrivateRedisOptions, startPrivateRedis } from '../private-redis/server.ts';

export type RedisSourceOptions = RedisServerOptions & Pick<PrivateRedisOptions, 'dir' | 'fsync'>;

type RedisSource<Address extends RedisAddress = string> = {
  readonly ok: true;
  readonly url: Address;
  /** Ends a private server that no other process uses; close your own connections first. Safe to call twice. */
  stop(): Promise<void>;
};

/** The names of the append-only file in all versions of the server. */
const DATA = ['appendonlydir', 'appendonly.aof'];
const firstRetryMs = 100;
const longestRetryMs = 5_000;

/**
 * Starts a private server or uses the running one, and restarts it on the same socket and data when it dies, as long as this
 * process lives. Returns a problem in words when no server is available or it does not start.
 */
export async function provideRedis(options: RedisSourceOptions): Promise<RedisSource | NoRedisServer> {
  const server = await findRedisServer(options);
  if (!server.ok) return server;
  const { dir, fsync, onProgress } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let redis: PrivateRedis;
  let reviving: Promise<void> | undefined;
  const onLost = () => {
    reviving = revive();
  };
  const start = () => startPrivateRedis({ server, dir, fsync, onLost });
  // If several processes use the folder, the first one starts the server and the others find that one.
  const revive = async () => {
    onProgress?.('The private Redis server has ended, or its connection was lost.');
    for (let delayMs = firstRetryMs; !signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      try {
        redis = await start();
        return onProgress?.(`The private Redis server is up again at ${redis.url}.`);
      } catch (error) {
        onProgress?.((error as Error).message);
      }
      await pause(delayMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const stop = async () => {
    stopping.abort();
    await reviving;
    await redis.stop();
  };
  try {
    redis = await start();
    return { ok: true, url: redis.url, stop };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}

/** The private server of this installation, under `./data`. */
const OWN = { root: HOME, dir: join(HOME, 'data', 'redis'), fsync: 'always' } as const;

/**
 * The Redis of this installation: the one in the settings, without a connection to it, or else the private one, as
 * `provideRedis`.
 */
export async function provideOwnRedis(
  settings: Settings,
  onProgress: (line: string) => void = () => {},
): Promise<RedisSource<RedisAddress> | NoRedisServer> {
  const url = redisAddressOf(settings);
  if (url !== undefined) return { ok: true, url, stop: async () => undefined };
  return provideRedis({ ...OWN, path: programPath(), onProgress });
}

/** The Redis of this installation: the one in the settings, or else the private one if it runs. Starts none. */
export async function findRunningRedis(settings: Settings): Promise<RedisAddress | undefined> {
  const address = redisAddressOf(settings);
  if (address !== undefined) return address;
  return (await findRunning(OWN.dir)) === undefined ? undefined : urlOf(OWN.dir);
}

/** A private server: its program, its process id if it runs, and whether its folder has data. */
type PrivateServer =
  | NoRedisServer
  | { readonly ok: true; readonly command: string; readonly pid?: number; readonly hasData: boolean };

/**
 * Looks for the private server of this installation and its data, and starts none. Returns a problem in words if no server
 * could start.
 */
export async function lookForOwnServer(): Promise<PrivateServer> {
  try {
    const server = await findRedisServer({ root: OWN.root, path: programPath() });
    if (!server.ok) return server;
    const pid = await findRunning(OWN.dir);
    const hasData = DATA.some((name) => existsSync(join(OWN.dir, name)));
    return { ok: true, command: server.command, hasData, ...(pid !== undefined && { pid }) };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}
