import { spawnRunning } from '../../fixture/process.ts';
import { percentile, until } from './bench.ts';
import type { Measure } from './figure.ts';
import { startWorld } from './start.ts';

const MESSAGES = 30;
/** The first ones compile code and open connections. */
const WARM_UP = 10;
const ANN = 1;
/** What was not shown before the answer counts as this late. */
const NEVER_MS = 10_000;
/** Long enough, and slow enough, for a draft to be shown while it is written. */
const ANSWER = { text: 'and so it goes on, '.repeat(8), everyMs: 20 };

/** What a person feels, over HTTP and the wire, with a message at a time. */
export const felt: Measure = {
  name: 'felt',
  figures: {
    toModelMs: { name: 'message written -> model request, p50', unit: 'ms', aim: { atMost: 15 } },
    typingMs: { name: 'message written -> "typing...", p50', unit: 'ms', aim: { atMost: 100 } },
    firstWordsMs: { name: "the model's first words -> in the chat, p50", unit: 'ms', aim: { atMost: 150 } },
  },
  async take({ redisUrl }) {
    const world = await startWorld(redisUrl);
    const { claude, telegram } = world;
    claude.react(() => ({ do: 'answer', ...ANSWER }));
    const gateway = await spawnRunning('spillway.ts', world.env);
    const [toModel, typing, firstWords]: number[][] = [[], [], []];
    for (let nth = 0; nth < MESSAGES; nth++) {
      const [saidMs, before] = [Date.now(), telegram.calls.length];
      telegram.say(ANN, `Tell me more (${nth}).`);
      const after = (method: string) => telegram.calls.slice(before).find((call) => call.method === method);
      await until(() => after('sendMessage')?.endedAt !== undefined);
      const call = claude.calls.findLast(({ kind }) => kind === 'main');
      if (nth < WARM_UP || call === undefined) continue;
      toModel?.push(call.at - saidMs);
      typing?.push((after('sendChatAction')?.at ?? saidMs + NEVER_MS) - saidMs);
      firstWords?.push((after('sendMessageDraft')?.at ?? call.at + NEVER_MS) - call.at - ANSWER.everyMs);
    }
    await gateway.stop();
    await world.stop();
    const median = (all: number[] = []) => percentile(all, 0.5);
    return { toModelMs: median(toModel), typingMs: median(typing), firstWordsMs: median(firstWords) };
  },
};
