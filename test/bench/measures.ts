import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { SPAN, type Telemetry } from '../../shared/base/telemetry.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { chatKey } from '../../shared/redis/keys.ts';
import { readScript } from '../../shared/redis/script.ts';
import type { Failure } from '../../worker/model/errors/failure.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { view } from '../../worker/session/view.ts';
import { incidentLines } from '../demo/incident.ts';
import { CONCURRENCY, messageOf, percentile, silentTelemetry, startBench } from './bench.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
const IN_FLIGHT = 10;
const WARM_UP_SECONDS = 3;

/** Bare BullMQ: live add, ten in flight, to a worker that does nothing. Jobs a second. */
export async function bareBullmq(redisAddress: string, jobs: number): Promise<number> {
  const redis = connectRedis(redisAddress, 'patient');
  await redis.flushall();
  const queue = new Queue('bare', { connection: redis, defaultJobOptions: { removeOnComplete: true } });
  let done = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const worker = new Worker('bare', async () => {}, { connection: redis, concurrency: CONCURRENCY });
  worker.on('completed', () => {
    done += 1;
    if (done === jobs) resolve();
  });
  await worker.waitUntilReady();
  const startedMs = performance.now();
  await inFlight(jobs, (n) => queue.add('job', { n }));
  await promise;
  const perSecond = (jobs / (performance.now() - startedMs)) * 1000;
  await worker.close();
  await queue.close();
  redis.disconnect();
  return perSecond;
}

/** Complete turns a second: from the first accept to the last reply, over many chats. */
export async function turns(redisAddress: string, messages: number, chats: number): Promise<number> {
  let sent = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const telegram = instantTelegram(() => {
    sent += 1;
    if (sent === messages) resolve();
  });
  const bench = await startBench(redisAddress, { model: instantModel(WINDOW_TOKENS), telegram });
  const startedMs = performance.now();
  await inFlight(messages, (n) => bench.inbox.accept(1, messageOf(n + 1, 1000 + (n % chats), `message ${n}`), ''));
  await promise;
  const perSecond = (messages / (performance.now() - startedMs)) * 1000;
  await bench.stop();
  return perSecond;
}

/** Time from the begin of accept to the model request, at a steady rate, each message in a chat of its own turn. */
export async function latency(
  redisAddress: string,
  perSecond: number,
  seconds: number,
): Promise<{ p50Ms: number; p99Ms: number }> {
  const acceptedAtMs = new Map<string, number>();
  const waitsMs: number[] = [];
  const model = instantModel(WINDOW_TOKENS, (request) => {
    const text = JSON.stringify(request.messages.at(-1)?.content);
    const name = /probe-\d+/.exec(text)?.[0] ?? '';
    waitsMs.push(performance.now() - (acceptedAtMs.get(name) ?? Number.NaN));
    return undefined;
  });
  const bench = await startBench(redisAddress, { model, telegram: instantTelegram() });
  // The first seconds compile code and open connections; they say nothing about a gateway that runs.
  const total = perSecond * (seconds + WARM_UP_SECONDS);
  for (let n = 0; n < total; n++) {
    acceptedAtMs.set(`probe-${n}`, performance.now());
    await bench.inbox.accept(1, messageOf(n + 1, 1000 + (n % 40), `probe-${n}`), '');
    await pause(1000 / perSecond);
  }
  await until(() => waitsMs.length >= total);
  await bench.stop();
  const warm = waitsMs.slice(perSecond * WARM_UP_SECONDS);
  return { p50Ms: percentile(warm, 0.5), p99Ms: percentile(warm, 0.99) };
}

/** Stage 2 on the incident's session: reading, building the seed and storing it with the fresh session. */
export async function stageTwo(
  redisAddress: string,
  rounds: number,
): Promise<{ medianMs: number; bytesRead: number; sessionBytes: number }> {
  const tooLong: Failure = { kind: 'token', reason: 'prompt_too_long', status: 400 };
  let failures = 0;
  const model = instantModel(WINDOW_TOKENS, ({ system }) => {
    if (system !== 'bench' || failures >= 1)
      return system === 'bench'
        ? undefined
        : { ok: false, repairs: [], failure: { kind: 'transient', reason: 'overloaded' } };
    failures += 1;
    return { ok: false, repairs: [], failure: tooLong };
  });
  const took: number[] = [];
  let sent = 0;
  const bench = await startBench(redisAddress, {
    model,
    telegram: instantTelegram((_chat, text) => {
      if (text.includes('instant')) sent += 1;
    }),
    telemetry: timing(silentTelemetry(), SPAN.overflowRecovery, took),
  });
  const records = await parseLines(incidentLines());
  for (let round = 0; round < rounds; round++) {
    failures = 0;
    await importSession(bench.redis, bench.keys, chatKey(1000), records);
    await bench.inbox.accept(1, messageOf(round + 1, 1000, 'go on'), '');
    await until(() => sent === round + 1);
  }
  const events = await bench.redis.xrange(bench.keys.events, '-', '+');
  const stored = events.map(([, fields]) => JSON.parse(fields[3] ?? '{}') as { event: string; bytesRead?: number });
  const bytesRead = Math.max(...stored.map((event) => event.bytesRead ?? 0));
  const sessionBytes = records.reduce((sum, record) => sum + JSON.stringify(record).length, 0);
  await bench.stop();
  return { medianMs: percentile(took, 0.5), bytesRead, sessionBytes };
}

/** The view of the newest records of the incident's session, which every request is computed from. */
export async function viewing(newest: number, rounds: number): Promise<{ viewMs: number; viewBytes: number }> {
  const records = (await parseLines(incidentLines())).slice(-newest);
  const took: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now();
    view({ head: undefined, records, omitted: 0 });
    took.push(performance.now() - startedMs);
  }
  return { viewMs: percentile(took, 0.5), viewBytes: JSON.stringify(records).length };
}

/** The commands that one plain turn sends to Redis, from accept to the end of its job, in order. */
export async function roundTrips(redisAddress: string): Promise<string[]> {
  let sent = 0;
  const bench = await startBench(redisAddress, {
    model: instantModel(WINDOW_TOKENS),
    telegram: instantTelegram(() => {
      sent += 1;
    }),
  });
  await bench.inbox.accept(1, messageOf(1, 1000, 'warm up'), '');
  await until(() => sent === 1);
  await pause(1_500);
  const ours = scriptNames();
  const seen: string[] = [];
  const onCommand = (message: unknown) => {
    const { command, args, batchMode, batchSize } = message as Traced;
    if (batchMode === undefined)
      seen.push(command === 'evalsha' ? (ours.get(String(args?.[0])) ?? 'a script of BullMQ') : String(command));
    else if (batchSize !== undefined) seen.push(`${batchMode} of ${batchSize}`);
  };
  subscribe('tracing:ioredis:command:start', onCommand);
  subscribe('tracing:ioredis:batch:start', onCommand);
  await bench.inbox.accept(1, messageOf(2, 1000, 'count me'), '');
  await until(() => sent === 2);
  await pause(300);
  unsubscribe('tracing:ioredis:command:start', onCommand);
  unsubscribe('tracing:ioredis:batch:start', onCommand);
  await bench.stop();
  return seen;
}

interface Traced {
  command?: string;
  args?: unknown[];
  batchMode?: string;
  batchSize?: number;
}

/** Our scripts by the hash under which Redis runs them. */
function scriptNames(): Map<string, string> {
  const files = ['producer', 'worker', 'shared/flow'].flatMap((folder) =>
    readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.lua'))
      .map((name) => join(PROJECT_ROOT, folder, name)),
  );
  return new Map(files.map((file) => [createHash('sha1').update(readScript(file)).digest('hex'), basename(file)]));
}

/** Telemetry that also notes how long one kind of span takes. */
function timing(telemetry: Telemetry, name: string, took: number[]): Telemetry {
  return {
    ...telemetry,
    async span(spanName, attributes, work, options) {
      const startedMs = performance.now();
      const result = await telemetry.span(spanName, attributes, work, options);
      if (spanName === name) took.push(performance.now() - startedMs);
      return result;
    },
  };
}

async function inFlight(total: number, start: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < total) {
      next += 1;
      await start(next - 1);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error('the bench waited for a minute in vain');
    await pause(5);
  }
}
