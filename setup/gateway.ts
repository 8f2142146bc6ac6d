import { findRunningRedis } from '../shared/app/find-redis.ts';
import { readSettings, type Settings } from '../shared/base/settings.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import { readReceivingProcess } from '../shared/state/process/receiver.ts';
import { isGateway } from '../worker/cli/check-machine.ts';
import { askRedis } from '../worker/cli/check-redis.ts';
import { userOfMachine } from '../worker/cli/verb.ts';
import { runAct } from '../worker/operator/act.ts';
import { allow } from '../worker/operator/chats.ts';
import type { Values } from './progress.ts';

const PLACE = [
  'TELEGRAM_BOT_TOKEN',
  ...['REDIS_URL', 'REDIS_CLUSTER_NODES', 'REDIS_SENTINELS', 'REDIS_SENTINEL_MASTER', 'HTTP_HOST', 'HTTP_PORT'],
];

/**
 * Whether a gateway receives the messages of this bot, according to the bot's lease in Redis. If no Redis answers, a gateway at
 * our port counts as the bot's gateway if `isKnownBot`, that is, if this bot was set up here before. Never rejects.
 */
export async function isReceived(values: Values, isKnownBot: boolean): Promise<boolean> {
  const lease = await withRunningRedis(values, async (redis, { TELEGRAM_BOT_TOKEN: token }) => ({
    owner: await readReceivingProcess(redis, Number(token.split(':')[0])),
  }));
  if (lease !== undefined) return lease.owner !== undefined;
  const settings = placeOf(values);
  return isKnownBot && settings !== undefined && isGateway(settings.HTTP_HOST, settings.HTTP_PORT);
}

/** Allows a person to use the bot at once, as `cli allow` does. Returns false if that fails. Never rejects. */
export async function letIn(values: Values, id: number): Promise<boolean> {
  const actor = { by: userOfMachine(), why: 'npm run setup' };
  const subject = { id: String(id), title: String(id), isSet: false };
  const run = (redis: RedisClient, settings: Settings) => runAct({ redis, shards: 1, settings }, allow, subject, actor);
  return (await withRunningRedis(values, run)) !== undefined;
}

/**
 * Runs `work` on the Redis of a gateway with these values. `undefined` if a value is wrong, no Redis answers, or `work` fails.
 */
async function withRunningRedis<T>(
  values: Values,
  work: (redis: RedisClient, settings: Settings) => Promise<T>,
): Promise<T | undefined> {
  const settings = placeOf(values);
  try {
    if (settings === undefined) return undefined;
    const address = await findRunningRedis(settings);
    return address === undefined ? undefined : await askRedis(address, (redis) => work(redis, settings));
  } catch {
    return undefined;
  }
}

/** A gateway's settings for its bot, Redis and port; `undefined` if one of them is wrong. */
function placeOf(values: Values): Settings | undefined {
  const reading = readSettings(Object.fromEntries(PLACE.map((name) => [name, values[name]])), 'tool');
  return reading.ok ? reading.settings : undefined;
}
