import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { temporaryBlobs } from '../fixture/blobs.ts';
import { type GatewayProcess, portOf, spawnRunning } from '../fixture/process.ts';
import { startClaude } from '../stand-in/claude/server.ts';
import { startTelegram } from '../stand-in/telegram/server.ts';
import { percentile } from './bench.ts';

const ROUNDS = 3;
const LOOK_MS = 5;
const GIVE_UP_MS = 60_000;

/**
 * How long the gateway is deaf, as real processes with the limits of production: from the start of one to which nobody
 * writes until it is ready, and from kill -9 of the one that polls until the next one does. Medians.
 */
export async function hearing(redisUrl: string): Promise<{ readyMs: number; takeoverMs: number }> {
  const redis = new Redis(redisUrl);
  await redis.flushall();
  redis.disconnect();
  const [telegram, claude] = await Promise.all([startTelegram(), startClaude()]);
  const blobs = await temporaryBlobs();
  const env = {
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_ALLOWED_IDS: '1',
    TELEGRAM_ALERT_CHAT_ID: 'none',
    ANTHROPIC_API_KEY: 'bench',
    ANTHROPIC_BASE_URL: claude.url,
    REDIS_URL: redisUrl,
    HTTP_PORT: '0',
    ...blobs.env,
  };
  const readyMs: number[] = [];
  const takeoverMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedMs = performance.now();
    const poller = await spawnRunning('spillway.ts', env);
    await until('gateway that is ready', () => isReady(poller));
    readyMs.push(performance.now() - startedMs);
    const heir = await spawnRunning('spillway.ts', env);
    await until('gateway that waits', () => heir.log.some((line) => line.includes('"holder":"another"')));
    const polls = () => telegram.calls.filter(({ method }) => method === 'getUpdates').length;
    const before = polls();
    const killedMs = performance.now();
    poller.kill('SIGKILL');
    await until('next poll', () => polls() > before);
    takeoverMs.push(performance.now() - killedMs);
    await heir.stop();
  }
  await Promise.all([telegram.close(), claude.close(), blobs.remove()]);
  return { readyMs: percentile(readyMs, 0.5), takeoverMs: percentile(takeoverMs, 0.5) };
}

async function isReady(gateway: GatewayProcess): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${portOf(gateway)}/readyz`);
  await response.body?.cancel();
  return response.ok;
}

async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + GIVE_UP_MS;
  while (!(await look())) {
    if (performance.now() > deadlineMs) throw new Error(`in ${GIVE_UP_MS} ms there was no ${what}`);
    await pause(LOOK_MS);
  }
}
