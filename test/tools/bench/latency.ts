import { setTimeout as pause } from 'node:timers/promises';
import { messageOf, percentile, startBench, until } from './bench.ts';
import type { Measure } from './figure.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
const PER_SECOND = 20;
const SECONDS = 15;
const CHATS = 40;
/** The first seconds compile code and open connections; they say nothing about a gateway that runs. */
const WARM_UP_SECONDS = 3;

/** Time from the begin of accept to the model request, at a steady rate, each message in a chat of its own turn. */
export const latency: Measure = {
  name: 'latency',
  figures: {
    p50Ms: { name: `accept -> model request at ${PER_SECOND}/s, p50`, unit: 'ms', aim: { atMost: 2 } },
    p99Ms: { name: 'the same, p99', unit: 'ms', aim: { atMost: 6 } },
  },
  async take({ redisUrl }) {
    const acceptedAtMs = new Map<string, number>();
    const waitsMs: number[] = [];
    const model = instantModel(WINDOW_TOKENS, (request) => {
      const text = JSON.stringify(request.messages.at(-1)?.content);
      const name = /probe-\d+/.exec(text)?.[0] ?? '';
      waitsMs.push(performance.now() - (acceptedAtMs.get(name) ?? Number.NaN));
      return undefined;
    });
    const bench = await startBench(redisUrl, { model, telegram: instantTelegram() });
    const total = PER_SECOND * (SECONDS + WARM_UP_SECONDS);
    for (let n = 0; n < total; n++) {
      acceptedAtMs.set(`probe-${n}`, performance.now());
      await bench.inbox.accept(1, messageOf(n + 1, 1000 + (n % CHATS), `probe-${n}`), '');
      await pause(1000 / PER_SECOND);
    }
    await until(() => waitsMs.length >= total);
    await bench.stop();
    const warm = waitsMs.slice(PER_SECOND * WARM_UP_SECONDS);
    return { p50Ms: percentile(warm, 0.5), p99Ms: percentile(warm, 0.99) };
  },
};
