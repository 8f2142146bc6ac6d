import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { BARE_ENV, pointedAt } from '../../fixture/environment.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { startClaude } from '../../stand-in/claude/server.ts';
import { startTelegram, type TelegramStandIn } from '../../stand-in/telegram/server.ts';
import { until } from './bench.ts';
import type { Measure } from './figure.ts';
import { treeMegabytes, treeOf } from './spent.ts';
import { emptied } from './wire.ts';

/** After its start the gateway has garbage, and pages that it gives back. */
export const REST_MS = 10_000;

/** A world for gateways of production, with Telegram and Claude in this process. */
export async function startWorld(redisUrl: string) {
  await emptied(redisUrl);
  const [telegram, claude, blobs] = await Promise.all([startTelegram(), startClaude(), temporaryBlobs()]);
  const env = {
    ...pointedAt(telegram, claude),
    TELEGRAM_ALLOWED_IDS: '1',
    TELEGRAM_ALERT_CHAT_ID: 'none',
    REDIS_URL: redisUrl,
    ...blobs.env,
  };
  const stop = () => Promise.all([telegram.close(), claude.close(), blobs.remove()]);
  return { telegram, claude, env, stop };
}

/** How often Telegram was asked for updates. */
export const pollsOf = (telegram: TelegramStandIn): number =>
  telegram.calls.filter(({ method }) => method === 'getUpdates').length;

/** `npm start` as a person types it: how long until it polls, and what its processes hold at rest. */
export const starting: Measure = {
  name: 'start',
  figures: {
    firstPollMs: { name: 'npm start -> first getUpdates', unit: 'ms', aim: { atMost: 1_200 } },
    restMegabytes: {
      name: 'memory of all its processes at rest, npm included (Pss)',
      unit: 'MB',
      aim: { atMost: 130 },
    },
  },
  async take({ redisUrl }) {
    const world = await startWorld(redisUrl);
    const startedMs = performance.now();
    const npm = spawn('npm', ['start', '--silent'], {
      cwd: PROJECT_ROOT,
      env: { ...BARE_ENV, HOME: process.env.HOME, ...world.env },
      stdio: 'ignore',
    });
    try {
      await until(() => pollsOf(world.telegram) > 0);
      const firstPollMs = performance.now() - startedMs;
      await pause(REST_MS);
      return { firstPollMs, restMegabytes: treeMegabytes(npm.pid ?? 0) };
    } finally {
      for (const pid of treeOf(npm.pid ?? 0).toReversed()) process.kill(pid, 'SIGTERM');
      await until(() => npm.exitCode !== null || npm.signalCode !== null);
      await world.stop();
    }
  },
};

/** How long nobody polls after kill -9 of the process that did, with another one waiting. */
export const takeover: Measure = {
  name: 'takeover',
  figures: {
    takeoverMs: { name: 'kill -9 of the poller -> next poll', unit: 'ms', aim: { atMost: 6_000 } },
  },
  async take({ redisUrl }) {
    const world = await startWorld(redisUrl);
    const poller = await spawnRunning('spillway.ts', world.env);
    await until(() => pollsOf(world.telegram) > 0);
    const heir = await spawnRunning('spillway.ts', world.env);
    await until(() => heir.log.some((line) => line.includes('"holder":"another"')));
    const before = pollsOf(world.telegram);
    const killedMs = performance.now();
    poller.kill('SIGKILL');
    await until(() => pollsOf(world.telegram) > before);
    const takeoverMs = performance.now() - killedMs;
    await heir.stop();
    await world.stop();
    return { takeoverMs };
  },
};
