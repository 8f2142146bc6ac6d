import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { programPath } from '../../shared/config.ts';
import { PROJECT_ROOT } from '../../shared/project.ts';
import type { Stage } from './stage.ts';

const STARTING_MS = 30_000;
const STOPPING_MS = 10_000;

/** Starts the real gateway as a process of its own, the way `npm start` does, pointed at the stage. */
export async function startDemoGateway(stage: Stage, redisUrl: string): Promise<{ stop(): Promise<void> }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(PROJECT_ROOT, 'spillway.ts')], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: {
      PATH: programPath(),
      TELEGRAM_BOT_TOKEN: stage.telegram.token,
      TELEGRAM_API_ROOT: stage.telegram.url,
      TELEGRAM_ALLOWED_IDS: String(stage.chat),
      TELEGRAM_ALERT_CHAT_ID: String(stage.operator),
      ANTHROPIC_API_KEY: 'stand-in',
      ANTHROPIC_BASE_URL: stage.claude.url,
      REDIS_URL: redisUrl,
      HTTP_PORT: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: stage.otlp.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
  });
  const ended = once(child, 'exit');
  await untilRunning(child.stderr, ended);
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOPPING_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

async function untilRunning(stderr: NodeJS.ReadableStream, ended: Promise<unknown>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const log: string[] = [];
  const fail = (why: string) => reject(new Error(`The gateway ${why}:\n${log.slice(-20).join('\n')}`));
  const timer = setTimeout(() => fail('did not start in time'), STARTING_MS);
  createInterface({ input: stderr }).on('line', (line) => {
    log.push(line);
    if (line.includes('"msg":"running"')) resolve();
  });
  void ended.then(() => fail('ended'));
  await promise.finally(() => clearTimeout(timer));
}
