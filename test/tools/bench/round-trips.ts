import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { readScript } from '../../../shared/redis/script.ts';
import { messageOf, startBench, until } from './bench.ts';
import type { Measure } from './figure.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
/** Nobody waits for these: they wait for work. */
const WAITS: ReadonlySet<string> = new Set(['xread', 'bzpopmin']);
const QUIET_MS = 1_500;
const AFTER_MS = 300;

/** The commands that one plain turn sends to Redis. */
export const roundTrips: Measure = {
  name: 'round-trips',
  figures: { trips: { name: 'Redis round trips of a plain turn', aim: { atMost: 14 } } },
  take: async ({ redisUrl }) => ({ trips: (await commandsOfATurn(redisUrl)).length }),
};

/** They by name, from accept to the end of the job, in order. */
export async function commandsOfATurn(redisUrl: string): Promise<string[]> {
  let sent = 0;
  const telegram = instantTelegram(() => {
    sent += 1;
  });
  const bench = await startBench(redisUrl, { model: instantModel(WINDOW_TOKENS), telegram });
  await bench.inbox.accept(1, messageOf(1, 1000, 'warm up'), '');
  await until(() => sent === 1);
  await pause(QUIET_MS);
  const ours = scriptNames();
  const nameOf = (sha: string) => ours.get(sha) ?? 'a script of BullMQ';
  const seen: string[] = [];
  let isInBatch = false;
  const onCommand = (message: unknown) => {
    const { command, args, batchSize } = message as Traced;
    // The commands of a transaction are sent together.
    if (batchSize !== undefined) isInBatch = true;
    if (batchSize !== undefined) seen.push(`a transaction of ${batchSize}`);
    else if (!isInBatch) seen.push(command === 'evalsha' ? nameOf(String(args?.[0])) : String(command));
    if (command === 'exec') isInBatch = false;
  };
  subscribe('tracing:ioredis:command:start', onCommand);
  subscribe('tracing:ioredis:batch:start', onCommand);
  await bench.inbox.accept(1, messageOf(2, 1000, 'count me'), '');
  await until(() => sent === 2);
  await pause(AFTER_MS);
  unsubscribe('tracing:ioredis:command:start', onCommand);
  unsubscribe('tracing:ioredis:batch:start', onCommand);
  await bench.stop();
  return seen.filter((name) => !WAITS.has(name));
}

interface Traced {
  command?: string;
  args?: unknown[];
  batchSize?: number;
}

/** Our scripts by the hash under which Redis runs them. */
function scriptNames(): Map<string, string> {
  const files = readdirSync(join(PROJECT_ROOT, 'shared'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.lua'))
    .map((name) => join(PROJECT_ROOT, 'shared', name));
  return new Map(files.map((file) => [createHash('sha1').update(readScript(file)).digest('hex'), basename(file)]));
}
