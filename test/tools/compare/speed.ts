import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../bench/bench.ts';
import { cpuMsOf, treeMegabytes } from '../bench/spent.ts';
import { type Contender, startContender } from './contender.ts';
import { type Outside, startOutside } from './outside.ts';

/** What one round measures of a contender. Times in ms, memory in MB. */
export interface Speed {
  toModelP50Ms: number;
  toModelP95Ms: number;
  firstWordsP50Ms: number;
  perSecond: number;
  cpuMsOfATurn: number;
  restMegabytes: number;
  loadMegabytes: number;
}

const SAMPLES = 60;
/** The first ones compile code and open connections. */
const WARM_UP = 20;
const ANN = 1;
const CHATS = 100;
const MESSAGES = 600;
/** After the second burst the cost of a turn falls no more. */
const BURSTS = 3;
const REST_MS = 10_000;
const LOOK_MS = 200;
const WINDOW_TOKENS = 200_000;

/** Measures a contender once, from its start on an empty Redis. Rejects when it does not start. */
export async function speedOf(contender: Contender, redisUrl: string): Promise<Speed> {
  const outside = await startOutside();
  const bot = await startContender(contender, { ...outside.env, REDIS_URL: redisUrl });
  try {
    const latency = await latencies(outside);
    await pause(REST_MS);
    const restMegabytes = treeMegabytes(bot.pid);
    return { ...latency, restMegabytes, ...(await load(outside, bot.pid)) };
  } finally {
    await bot.stop();
    await outside.stop();
  }
}

/** A message at a time, with a model that writes its answer piece by piece. */
async function latencies(outside: Outside): Promise<Pick<Speed, 'toModelP50Ms' | 'toModelP95Ms' | 'firstWordsP50Ms'>> {
  await outside.ask({ do: 'begin', slow: true, windowTokens: WINDOW_TOKENS });
  const toModel: number[] = [];
  const firstWords: number[] = [];
  for (let n = 0; n < WARM_UP + SAMPLES; n++) {
    const { sample } = await outside.ask({ do: 'sample', chat: ANN, n });
    if (n < WARM_UP || sample === undefined) continue;
    toModel.push(sample.toModelMs);
    firstWords.push(sample.firstWordsMs);
  }
  return {
    toModelP50Ms: percentile(toModel, 0.5),
    toModelP95Ms: percentile(toModel, 0.95),
    firstWordsP50Ms: percentile(firstWords, 0.5),
  };
}

/** Many messages at once to a model that answers at once: the last burst counts, and the most memory of all. */
async function load(
  outside: Outside,
  pid: number,
): Promise<Pick<Speed, 'perSecond' | 'cpuMsOfATurn' | 'loadMegabytes'>> {
  await outside.ask({ do: 'begin', slow: false, windowTokens: WINDOW_TOKENS });
  let loadMegabytes = 0;
  let last = { perSecond: 0, cpuMsOfATurn: 0 };
  const timer = setInterval(() => {
    loadMegabytes = Math.max(loadMegabytes, treeMegabytes(pid));
  }, LOOK_MS);
  for (let burst = 1; burst <= BURSTS; burst++) {
    const beforeMs = cpuMsOf(pid);
    const firstChat = burst * 1_000;
    const { perSecond = 0 } = await outside.ask({ do: 'burst', messages: MESSAGES, chats: CHATS, firstChat });
    last = { perSecond, cpuMsOfATurn: (cpuMsOf(pid) - beforeMs) / MESSAGES };
  }
  clearInterval(timer);
  return { ...last, loadMegabytes };
}
