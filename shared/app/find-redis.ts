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
  /** Ends a private server, unless another process uses it; close your own connections first. Safe to call twice. */
  stop(): Promise<void>;
};

/** The names of the append-only file or its folder in all versions of the server. */
const DATA = ['appendonlydir', 'appendonly.aof'];
const firstRetryMs = 100;
const longestRetryMs = 5_000;

/**
 * Starts the private server of a folder, or uses the one that already runs there. If the server is lost before `stop`, starts
 * it again on the same socket and data. Returns a problem in words when no server is available or the server does not start.
 */
export async function provideRedis(options: RedisSourceOptions): Promise<RedisSource | NoRedisServer> {
  const server = await findRedisServer(options);
  if (!server.ok) return server;
  const { dir, fsync, onProgress } = options;
  const stopping = new AbortController();
  let redis: PrivateRedis;
  let reviving: Promise<void> | undefined;
  const onLost = () => {
    reviving = revive();
  };
  const start = () => startPrivateRedis({ server, dir, fsync, onLost });
  // If several processes use the folder, one of them starts the server and the others use that server.
  const revive = async () => {
    onProgress?.('The private Redis server has ended, or its connection was lost.');
    for (let delayMs = firstRetryMs; !stopping.signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      try {
        redis = await start();
        return onProgress?.(`The private Redis server is up again at ${redis.url}.`);
      } catch (error) {
        onProgress?.((error as Error).message);
      }
      await pause(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
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

/** The options of this installation's private server, whose data is in the folder `data/redis`. */
const OWN = { root: HOME, dir: join(HOME, 'data', 'redis'), fsync: 'always' } as const;

/**
 * The Redis of this installation: the one in the settings, which is not tried here, or else the private server, which is
 * started if it does not run. Returns a problem in words when no private server is available or the server does not start.
 */
export async function provideOwnRedis(
  settings: Settings,
  onProgress: (line: string) => void = () => {},
): Promise<RedisSource<RedisAddress> | NoRedisServer> {
  const url = redisAddressOf(settings);
  if (url !== undefined) return { ok: true, url, stop: async () => undefined };
  return provideRedis({ ...OWN, path: programPath(), onProgress });
}

/** The address of the Redis in the settings, or of the private server if it runs; `undefined` otherwise. Starts no server. */
export async function findRunningRedis(settings: Settings): Promise<RedisAddress | undefined> {
  const address = redisAddressOf(settings);
  if (address !== undefined) return address;
  return (await findRunning(OWN.dir)) === undefined ? undefined : urlOf(OWN.dir);
}

/** A private server (its program, its process id if it runs, and whether its folder has data), or the problem with it. */
type PrivateServer =
  | NoRedisServer
  | { readonly ok: true; readonly command: string; readonly pid?: number; readonly hasData: boolean };

/**
 * Looks for the private server of this installation and its data. Fetches a missing program, but starts no server. Returns a
 * problem in words if there is no program, or if a running server does not answer. Never rejects.
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
