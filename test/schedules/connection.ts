import { basename } from 'node:path';
import { Redis } from 'ioredis';
import type { Mutation } from '../chaos/mutant-copy.ts';
import { freshRedis } from '../fixture/redis.ts';

/** Runs work over a Redis of its own that writes no file. Its scripts are the product's, with these mutations. */
export async function onRedis<T>(work: (redis: Redis) => Promise<T>, mutations: readonly Mutation[] = []): Promise<T> {
  const server = await freshRedis({ settings: { appendonly: 'no', save: '' } });
  const redis = new Redis(server.url);
  try {
    await redis.ping();
    batchWrites(redis);
    if (mutations.length > 0) mutateScripts(redis, mutations);
    return await work(redis);
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

/** Sends in one packet what many schedules send at the same time: a packet costs more than a command. */
function batchWrites(redis: Redis): void {
  const { stream } = redis as unknown as { stream: { cork(): void; uncork(): void } };
  const send = redis.sendCommand.bind(redis);
  let isCorked = false;
  const flush = (): void => {
    isCorked = false;
    stream.uncork();
  };
  redis.sendCommand = (...args) => {
    if (!isCorked) {
      isCorked = true;
      stream.cork();
      setImmediate(flush);
    }
    return send(...args);
  };
}

/** Mutates the scripts that are bound from now on. The same text may stand in other scripts, which stay as they are. */
function mutateScripts(redis: Redis, mutations: readonly Mutation[]): void {
  const define = redis.defineCommand.bind(redis);
  redis.defineCommand = (name, definition) => {
    const own = mutations.filter(({ file }) => name === `spillway:${basename(file, '.lua')}`);
    const lua = own.reduce((text, { from, to, file }) => {
      if (!text.includes(from)) throw new Error(`${file} does not hold: ${from}`);
      return text.replace(from, () => to);
    }, definition.lua);
    define(name, { ...definition, lua });
  };
}
