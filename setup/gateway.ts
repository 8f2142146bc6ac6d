import { findRunningRedis } from '../shared/app/find-redis.ts';
import type { Config } from '../shared/base/config.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import { readReceivingProcess } from '../shared/state/process/receiver.ts';
import { isGateway } from '../worker/cli/check-machine.ts';
import { askRedis } from '../worker/cli/check-redis.ts';
import { userOfMachine } from '../worker/cli/verb.ts';
import { allow } from '../worker/operator/allow.ts';

/** The settings that say where a gateway is, and for which bot. */
export const PLACE = [
  'TELEGRAM_BOT_TOKEN',
  ...['REDIS_URL', 'REDIS_CLUSTER_NODES', 'REDIS_SENTINELS', 'REDIS_SENTINEL_MASTER', 'HTTP_HOST', 'HTTP_PORT'],
];

/**
 * Whether a gateway receives the messages of this bot: its lease in Redis says so. Where no Redis answers, a gateway at our
 * port is taken for that of a bot that was set up here before. Never rejects.
 */
export async function isReceived(config: Config, isKnownBot: boolean): Promise<boolean> {
  const botId = Number(config.TELEGRAM_BOT_TOKEN.split(':')[0]);
  const lease = await withRunningRedis(config, async (redis) => ({ owner: await readReceivingProcess(redis, botId) }));
  if (lease !== undefined) return lease.owner !== undefined;
  return isKnownBot && isGateway(config.HTTP_HOST, config.HTTP_PORT);
}

/** Lets a person in at once, as `cli allow` does. Returns false where no Redis answers. Never rejects. */
export async function letIn(config: Config, id: number): Promise<boolean> {
  const attribution = { by: userOfMachine(), why: 'npm run setup' };
  const added = await withRunningRedis(config, (redis) => allow({ redis }, String(id), true, attribution));
  return added !== undefined;
}

/** Works on the Redis that a running gateway would use; starts none. Returns `undefined` where none answers. */
function withRunningRedis<T>(config: Config, work: (redis: RedisClient) => Promise<T>): Promise<T | undefined> {
  const address = findRunningRedis(config);
  return address.then((found) => askRedis({ ...(found && { address: found }) }, work)).catch(() => undefined);
}
