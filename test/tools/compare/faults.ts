import { setTimeout as pause } from 'node:timers/promises';
import type { FoundRedisServer } from '../../../shared/private-redis/install.ts';
import { type ChaosRedis, startChaosRedis } from '../../chaos/redis.ts';
import { type Contender, type Running, startContender } from './contender.ts';
import { judge, type Verdict } from './judge.ts';
import { type Order, type Outside, startOutside } from './outside.ts';

/** What a fault is done to. */
interface Ground {
  outside: Outside;
  bot: Running;
  redis: ChaosRedis;
  /** How long an outage lasts, in ms. */
  outageMs: number;
}

/** A fault, with the traffic in which it happens. */
export interface Fault {
  readonly name: string;
  play(ground: Ground): Promise<void>;
}

const CHATS = 12;
const WINDOW_TOKENS = 200_000;
const SMALL_WINDOW_TOKENS = 5_000;
/** What a long message has, so that a conversation outgrows the small window. */
const LONG = 'a detail that matters later; '.repeat(60);
/** A model that answers at once is rarely cut off. */
const THINK_MS = 700;
/** The gateway asks an overloaded model once a minute; BullMQ finds the job of a killed worker within one. */
const QUIET_MS = 80_000;
const SETTLE_MS = 240_000;

const FIRST_CHAT = 100;
const say = ({ outside }: Ground, at: number, words = 'hello') =>
  outside.ask({ do: 'say', chat: FIRST_CHAT + (at % CHATS), n: Math.floor(at / CHATS), words });

/** People write at an even pace; meanwhile something else happens. */
async function writing(
  ground: Ground,
  messages: number,
  overMs: number,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const happens = meanwhile();
  for (let at = 0; at < messages; at++) {
    await say(ground, at);
    await pause(overMs / messages);
  }
  await happens;
}

/** Something outside is away for a while. */
function outage(begin: Order, end: Order): Fault['play'] {
  return (ground) =>
    writing(ground, 60, 15_000, async () => {
      await pause(5_000);
      await ground.outside.ask(begin);
      await pause(ground.outageMs);
      await ground.outside.ask(end);
    });
}

/** Everything that is done to a bot, in the order of the table. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'ten kill -9',
    play: (ground) =>
      writing(ground, 120, 30_000, async () => {
        for (let nth = 0; nth < 10; nth++) {
          await pause(2_000);
          await ground.bot.replace();
        }
      }),
  },
  {
    name: 'Redis killed, back after 5 s',
    play: (ground) =>
      writing(ground, 60, 20_000, async () => {
        await pause(5_000);
        ground.redis.kill9();
        await pause(5_000);
        await ground.redis.restart();
      }),
  },
  { name: 'Telegram away', play: outage({ do: 'telegram', isAway: true }, { do: 'telegram', isAway: false }) },
  {
    name: 'the model overloaded (529)',
    play: outage({ do: 'model', overloaded: true }, { do: 'model', overloaded: false }),
  },
  {
    name: 'a conversation too long',
    async play(ground) {
      await ground.outside.ask({ do: 'model', overloaded: false, windowTokens: SMALL_WINDOW_TOKENS });
      for (let n = 0; n < 20; n++) {
        await ground.outside.ask({ do: 'say', chat: FIRST_CHAT, n, words: LONG });
        await pause(1_500);
      }
    },
  },
];

/** Does a fault to a contender, waits until nothing changes any more, and reads the chats. */
export async function playFault(
  fault: Fault,
  contender: Contender,
  { server, outageMs }: { server: FoundRedisServer; outageMs: number },
): Promise<Verdict> {
  const [outside, redis] = await Promise.all([startOutside(), startChaosRedis(server)]);
  const bot = await startContender(contender, { ...outside.env, REDIS_URL: redis.url });
  try {
    await outside.ask({ do: 'begin', slow: false, windowTokens: WINDOW_TOKENS, thinkMs: THINK_MS });
    await fault.play({ outside, bot, redis, outageMs });
    const { asked = [], shown = [] } = await outside.ask({ do: 'settle', quietMs: QUIET_MS, atMostMs: SETTLE_MS });
    return judge(asked, shown);
  } finally {
    await bot.stop();
    await outside.stop();
    await redis.stop();
  }
}
