import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Redis } from 'ioredis';
import { createFailpoints } from '../../../shared/base/failpoint.ts';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { createLogger } from '../../../shared/base/log.ts';
import { readSettings, type Settings } from '../../../shared/base/settings.ts';
import { type Telemetry, traceIdsOnly } from '../../../shared/base/telemetry.ts';
import type { InboundMessage } from '../../../shared/flow/message.ts';
import { connectRedis, untilReady } from '../../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../../shared/redis/keys.ts';
import { createInbox, type Inbox } from '../../../shared/state/message/inbox.ts';
import { nameProcess } from '../../../shared/state/process/process.ts';
import type { Telegram } from '../../../shared/telegram/client.ts';
import type { Model } from '../../../worker/model/port.ts';
import { NO_TOOLS } from '../../../worker/tools/toolbox.ts';
import { withExclusions } from '../../../worker/tools/toolboxes.ts';
import { startWorker, type WorkerParts } from '../../../worker/worker.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { BARE_ENV } from '../../fixture/environment.ts';
import { inboundText } from '../../fixture/inbound.ts';

/** A worker on real parts, with the model and the Telegram of the caller. */
export interface Bench {
  redis: Redis;
  keys: Keys;
  inbox: Inbox;
  worker: Service;
  stop(): Promise<void>;
}

const CONCURRENCY = 50;
const IN_FLIGHT = 10;
const LOOK_MS = 5;
const GIVE_UP_MS = 60_000;

/** The settings of the gateway that is measured. */
function settingsOf(env: Readonly<Record<string, string>>): Settings {
  const reading = readSettings(
    {
      TELEGRAM_BOT_TOKEN: '1:bench',
      TELEGRAM_ALLOWED_IDS: '*',
      PERSON_DAILY_USD: '0',
      TOTAL_DAILY_USD: '999999',
      TELEGRAM_ALERT_CHAT_ID: '1',
      ANTHROPIC_API_KEY: 'bench',
      // What is measured is the gateway's own time, without what it waits on purpose.
      TELEGRAM_PACING: 'false',
      WORKER_CONCURRENCY: String(CONCURRENCY),
      ...env,
    },
    'gateway',
  );
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.settings;
}

/** Starts a worker against a Redis that is emptied first. */
export async function startBench(
  redisAddress: string,
  ports: {
    model: Model;
    telegram: Telegram;
    telemetry?: Telemetry;
    env?: Readonly<Record<string, string>>;
    tools?: WorkerParts['tools'];
  },
): Promise<Bench> {
  const redis = connectRedis(redisAddress, 'patient');
  await untilReady(redis, 10_000);
  await redis.flushall();
  const blobs = await temporaryBlobs();
  const log = createLogger('silent');
  const worker = await startWorker(
    {
      processName: nameProcess(),
      settings: { ...settingsOf({ ...blobs.env, ...ports.env }), SUMMARY_TIME_MS: 1_000 },
      redisAddress,
      telegram: ports.telegram,
      telemetry: ports.telemetry ?? silentTelemetry(),
      log,
      reach: createFailpoints(undefined),
    },
    {
      model: ports.model,
      files: { systemPrompt: 'bench', preserve: '', prices: new Map(), chats: new Map() },
      tools: ports.tools ?? withExclusions(NO_TOOLS),
    },
  );
  return {
    redis,
    keys: keysOf(0),
    inbox: createInbox(redis, 1),
    worker,
    async stop() {
      await worker.stop();
      redis.disconnect();
      await blobs.remove();
    },
  };
}

let telemetry: Telemetry | undefined;

/** OpenTelemetry without an exporter, as in a gateway that has no endpoint set. One for the process. */
export function silentTelemetry(): Telemetry {
  telemetry ??= traceIdsOnly();
  return telemetry;
}

/** A message as `readUpdate` makes it, of now. */
export function messageOf(updateId: number, chatId: number, text: string): InboundMessage {
  return { ...inboundText(updateId, chatId), sentAtMs: Date.now(), content: { kind: 'text', text } };
}

/** The value below which a share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The processor time of this process while something is done, in ms. */
export async function cpuMsDuring(work: () => Promise<unknown>): Promise<number> {
  const started = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1_000;
}

/** Does something a number of times, ten at once. */
export async function inFlight(total: number, start: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < total) {
      next += 1;
      await start(next - 1);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

/** Measures in a process of its own, whose code is cold, and whose memory says nothing of what this one did before. */
export async function inOwnProcess<Name extends string>(
  program: string,
  args: readonly string[],
): Promise<Record<Name, number>> {
  const all = ['--disable-warning=ExperimentalWarning', '--expose-gc', join(import.meta.dirname, program), ...args];
  const { stdout } = await promisify(execFile)(process.execPath, all, { env: { ...BARE_ENV } });
  return JSON.parse(stdout) as Record<Name, number>;
}

/** Waits until something holds. Rejects after a minute. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + GIVE_UP_MS;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error('the bench waited for a minute in vain');
    await pause(LOOK_MS);
  }
}
