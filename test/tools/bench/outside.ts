import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BARE_ENV } from '../../fixture/environment.ts';

/** What the process of the stand-ins is asked: to write messages, in turn to each of some chats. */
export interface Asked {
  messages: number;
  chats: number;
  firstChat: number;
}

/** What it tells: where it listens, and, once every message is answered, when each was. */
export type Told =
  | { telegramUrl: string; token: string; claudeUrl: string; otlpUrl: string }
  | { answeredAtMs: number[] };

/** Telegram, Claude and a collector, in a process of their own. */
export interface Outside {
  /** The settings that lead a gateway there, without its Redis and its blobs. */
  readonly env: Readonly<Record<string, string>>;
  readonly otlpUrl: string;
  /** People write, all at once. Resolves when all are answered, with the time of each answer in ms. */
  write(asked: Asked): Promise<number[]>;
  stop(): Promise<void>;
}

const PATIENCE_MS = 300_000;

/** Starts it. `modelMs` is how long the model takes before its first word. */
export async function startOutside(modelMs: number): Promise<Outside> {
  const child = fork(join(import.meta.dirname, 'stand-ins.ts'), [String(modelMs)], {
    env: { ...BARE_ENV },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const told = await hear(child);
  if (!('telegramUrl' in told)) throw new Error('the stand-ins did not tell where they listen');
  return {
    env: {
      TELEGRAM_BOT_TOKEN: told.token,
      TELEGRAM_API_ROOT: told.telegramUrl,
      TELEGRAM_ALLOWED_IDS: '*',
      PERSON_DAILY_USD: '0',
      TOTAL_DAILY_USD: '999999',
      TELEGRAM_ALERT_CHAT_ID: 'none',
      // What is measured is the gateway, not the waits that Telegram's limits demand.
      TELEGRAM_PACING: 'false',
      ANTHROPIC_API_KEY: 'bench',
      ANTHROPIC_BASE_URL: told.claudeUrl,
      HTTP_PORT: '0',
    },
    otlpUrl: told.otlpUrl,
    async write(asked) {
      child.send(asked);
      const done = await hear(child);
      if (!('answeredAtMs' in done)) throw new Error('the stand-ins did not tell when they were answered');
      return done.answeredAtMs;
    },
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function hear(child: ChildProcess): Promise<Told> {
  const [told] = await once(child, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) });
  return told as Told;
}
