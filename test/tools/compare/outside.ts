import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BARE_ENV, pointedAt } from '../../fixture/environment.ts';
import type { Asked, Shown } from './judge.ts';

/** How long one message took, in ms: from its writing to the model, and from there to its first words in the chat. */
export interface Sample {
  toModelMs: number;
  firstWordsMs: number;
}

/** What the process of the stand-ins is asked. */
export type Order =
  /** `thinkMs`: how long the model takes before its first word. */
  | { do: 'begin'; slow: boolean; windowTokens: number; thinkMs?: number }
  | ({ do: 'sample' } & Asked)
  /** `firstN`: the number of each chat's first message; default 0. */
  | { do: 'burst'; messages: number; chats: number; firstChat: number; firstN?: number }
  /** The same without marks, for the time of each answer. */
  | { do: 'write'; messages: number; chats: number; firstChat: number }
  | ({ do: 'say'; words: string } & Asked)
  | { do: 'telegram'; isAway: boolean }
  | { do: 'model'; overloaded: boolean; windowTokens?: number }
  | { do: 'settle'; quietMs: number; atMostMs: number };

/** What it tells when that is done. */
export interface Reply {
  done?: true;
  sample?: Sample;
  perSecond?: number;
  answeredAtMs?: number[];
  asked?: Asked[];
  shown?: Shown[];
}

/** Telegram, Claude and a collector, in a process of their own: what a bot uses of the processor is the bot's. */
export interface Outside {
  /** The settings that lead a bot there, without its Redis. */
  readonly env: Readonly<Record<string, string>>;
  readonly otlpUrl: string;
  ask(order: Order): Promise<Reply>;
  stop(): Promise<void>;
}

const PATIENCE_MS = 600_000;

/** Starts it. `modelMs` is how long the model sends nothing but pings before its first word. */
export async function startOutside(modelMs = 0): Promise<Outside> {
  const child = fork(join(import.meta.dirname, 'outside-process.ts'), [String(modelMs)], {
    env: { ...BARE_ENV },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let before: Promise<unknown> = Promise.resolve();
  const { telegramUrl, token, claudeUrl, otlpUrl } = (await hear(child)) as Record<string, string>;
  if (!(telegramUrl && token && claudeUrl && otlpUrl)) throw new Error('the stand-ins did not tell where they listen');
  return {
    env: {
      ...pointedAt({ token, url: telegramUrl }, { url: claudeUrl }),
      TELEGRAM_ALLOWED_IDS: '*',
      PERSON_DAILY_USD: '0',
      TOTAL_DAILY_USD: '999999',
      TELEGRAM_ALERT_CHAT_ID: 'none',
      // What is measured is the bot, not the waits that Telegram's limits demand; the plain bots keep no pace either.
      TELEGRAM_PACING: 'false',
    },
    otlpUrl,
    ask(order) {
      // One after another: a reply does not say what it replies to.
      const reply = before.then(() => {
        child.send(order);
        return hear(child) as Promise<Reply>;
      });
      before = reply.catch(() => undefined);
      return reply;
    },
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function hear(child: ChildProcess): Promise<unknown> {
  const [told] = await once(child, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) });
  return told;
}
