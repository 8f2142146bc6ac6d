import { temporaryBlobs } from '../../fixture/blobs.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { startOutside } from '../compare/outside.ts';
import type { Measure } from './figure.ts';
import { emptied } from './wire.ts';

const CHATS = 200;
const MODEL_MS = 400;
/** About ten seconds of work for each process. */
const MESSAGES_EACH = 400;
const WARM_UP_EACH = 40;
/** The share of the answers before and after which the processes are not all busy. */
const EDGE = 0.2;
const FIRST_CHAT = 1_000;
const MEASURED_CHAT = 100_000;

/** Turns a second of so many worker processes on one Redis, beside a process that polls. */
async function perSecond(redisUrl: string, processes: number): Promise<number> {
  await emptied(redisUrl);
  const [outside, blobs] = await Promise.all([startOutside(MODEL_MS), temporaryBlobs()]);
  const env = { ...outside.env, ...blobs.env, REDIS_URL: redisUrl };
  const roots = ['producer/main.ts', ...Array.from({ length: processes }, () => 'worker/main.ts')];
  const running = await Promise.all(roots.map((root) => spawnRunning(root, env)));
  try {
    await outside.ask({ do: 'write', messages: WARM_UP_EACH * processes, chats: CHATS, firstChat: FIRST_CHAT });
    const messages = MESSAGES_EACH * processes;
    const { answeredAtMs = [] } = await outside.ask({ do: 'write', messages, chats: CHATS, firstChat: MEASURED_CHAT });
    const [first, last] = [EDGE, 1 - EDGE].map((share) => Math.floor(messages * share));
    const tookMs = (answeredAtMs[last ?? 0] ?? 0) - (answeredAtMs[first ?? 0] ?? 0);
    return (messages * (1 - 2 * EDGE) * 1_000) / tookMs;
  } finally {
    await Promise.all(running.map((process) => process.stop()));
    await Promise.all([outside.stop(), blobs.remove()]);
  }
}

/** How much more two and four worker processes answer than one. */
export const processes: Measure = {
  name: 'processes',
  figures: {
    two: { name: `turns of 2 worker processes over 1, model ${MODEL_MS} ms, ${CHATS} chats`, aim: { atLeast: 1.9 } },
    four: { name: 'the same, 4 over 1', aim: { atLeast: 3.6 } },
  },
  async take({ redisUrl }) {
    const onePerSecond = await perSecond(redisUrl, 1);
    const twoPerSecond = await perSecond(redisUrl, 2);
    const fourPerSecond = await perSecond(redisUrl, 4);
    return {
      two: twoPerSecond / onePerSecond,
      four: fourPerSecond / onePerSecond,
      onePerSecond,
      twoPerSecond,
      fourPerSecond,
    };
  },
};
