import { findRunningRedis } from '../shared/app/find-redis.ts';
import { type Config, readConfig } from '../shared/base/config.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import { readReceivingProcess } from '../shared/state/process/receiver.ts';
import { isGateway } from '../worker/cli/check-machine.ts';
import { askRedis } from '../worker/cli/check-redis.ts';
import { userOfMachine } from '../worker/cli/verb.ts';
import { runAct } from '../worker/operator/act.ts';
import { allow } from '../worker/operator/chats.ts';
import type { Settings } from './progress.ts';

const PLACE = [
  'TELEGRAM_BOT_TOKEN',
  ...['REDIS_URL', 'REDIS_CLUSTER_NODES', 'REDIS_SENTINELS', 'REDIS_SENTINEL_MASTER', 'HTTP_HOST', 'HTTP_PORT'],
];

/**
 * Whether a gateway receives the messages of this bot: its lease in Redis says so. Where no Redis answers, a gateway at our
 * port is taken for that of a bot that was set up here before. Never rejects.
 */
export async function isReceived(settings: Settings, isKnownBot: boolean): Promise<boolean> {
  const lease = await withRunningRedis(settings, async (redis, { TELEGRAM_BOT_TOKEN: token }) => ({
    owner: await readReceivingProcess(redis, Number(token.split(':')[0])),
  }));
  if (lease !== undefined) return lease.owner !== undefined;
  const config = placeOf(settings);
  return isKnownBot && config !== undefined && isGateway(config.HTTP_HOST, config.HTTP_PORT);
}

/** Lets a person in at once, as `cli allow` does. Returns false where no Redis answers. Never rejects. */
export async function letIn(settings: Settings, id: number): Promise<boolean> {
  const attribution = { by: userOfMachine(), why: 'npm run setup' };
  const subject = { id: String(id), called: String(id), isSet: false };
  const letIn = (redis: RedisClient) => runAct({ redis, shards: 1 }, allow, subject, attribution);
  return (await withRunningRedis(settings, letIn)) !== undefined;
}

/** Works on the Redis that a running gateway would use; starts none. Returns `undefined` where none answers. */
async function withRunningRedis<T>(
  settings: Settings,
  work: (redis: RedisClient, config: Config) => Promise<T>,
): Promise<T | undefined> {
  const config = placeOf(settings);
  try {
    if (config === undefined) return undefined;
    const address = await findRunningRedis(config);
    return address === undefined ? undefined : await askRedis(address, (redis) => work(redis, config));
  } catch {
    return undefined;
  }
}

/** The settings that say where a gateway is, and for which bot; `undefined` where one of them is wrong. */
function placeOf(settings: Settings): Config | undefined {
  const reading = readConfig(Object.fromEntries(PLACE.map((name) => [name, settings[name]])), 'tool');
  return reading.ok ? reading.config : undefined;
}
