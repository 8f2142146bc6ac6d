import { inOwnProcess } from './bench.ts';
import type { Measure } from './figure.ts';

const FEW = 10;
const MANY = 10_000;

/** Whether a turn gets dearer, and the process larger, with the number of chats. */
export const chats: Measure = {
  name: 'chats',
  figures: {
    cpu: { name: `CPU of a turn, ${MANY} chats over ${FEW}`, aim: { atMost: 1.15 } },
    memory: { name: 'the same, memory of the process', aim: { atMost: 1.2 } },
  },
  async take({ redisUrl }) {
    const serve = (count: number) => inOwnProcess<'cpuMs' | 'megabytes'>('serve-chats.ts', [redisUrl, String(count)]);
    const few = await serve(FEW);
    const many = await serve(MANY);
    return {
      cpu: many.cpuMs / few.cpuMs,
      memory: many.megabytes / few.megabytes,
      fewMegabytes: few.megabytes,
      manyMegabytes: many.megabytes,
    };
  },
};
