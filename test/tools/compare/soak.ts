import { setTimeout as pause } from 'node:timers/promises';
import { treeMegabytes } from '../bench/spent.ts';
import { type Contender, startContender } from './contender.ts';
import { startOutside } from './outside.ts';

/** What a contender has, in MB, after so many minutes. */
export interface Held {
  minute: number;
  megabytes: number;
}

const MINUTE_MS = 60_000;
const BURSTS_A_MINUTE = 6;
const MESSAGES = 50;
/** So many chats talk at a time; each minute some fall silent, and as many new ones begin. */
const CHATS = 50;
const NEW_CHATS = 10;
const FIRST_CHAT = 1_000;
const WINDOW_TOKENS = 200_000;

/** Lets a contender work for so many minutes, and tells each minute what memory it has. Rejects when it does not start. */
export async function* memoryOver(contender: Contender, redisUrl: string, minutes: number): AsyncGenerator<Held> {
  const outside = await startOutside();
  const bot = await startContender(contender, { ...outside.env, REDIS_URL: redisUrl });
  try {
    await outside.ask({ do: 'begin', slow: false, windowTokens: WINDOW_TOKENS });
    const startMs = performance.now();
    for (let burst = 0; burst < minutes * BURSTS_A_MINUTE; burst++) {
      const minute = Math.floor(burst / BURSTS_A_MINUTE);
      const firstChat = FIRST_CHAT + minute * NEW_CHATS;
      await outside.ask({ do: 'burst', messages: MESSAGES, chats: CHATS, firstChat, firstN: burst });
      await pause(Math.max(0, startMs + ((burst + 1) * MINUTE_MS) / BURSTS_A_MINUTE - performance.now()));
      if (burst % BURSTS_A_MINUTE === BURSTS_A_MINUTE - 1)
        yield { minute: minute + 1, megabytes: treeMegabytes(bot.pid) };
    }
  } finally {
    await bot.stop();
    await outside.stop();
  }
}
