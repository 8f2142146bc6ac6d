import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BARE_ENV } from '../../fixture/environment.ts';
import type { Measure } from './figure.ts';

const FEW = 10;
const MANY = 10_000;

/** Whether a turn gets dearer, and the process larger, with the number of chats. */
export const chats: Measure = {
  name: 'chats',
  figures: {
    cpu: { name: `CPU of a turn, ${MANY} chats over ${FEW}`, unit: '', aim: { atMost: 1.15 } },
    memory: { name: 'the same, memory of the process', unit: '', aim: { atMost: 1.2 } },
  },
  async take({ redisUrl }) {
    const few = await serve(redisUrl, FEW);
    const many = await serve(redisUrl, MANY);
    return {
      cpu: many.cpuMs / few.cpuMs,
      memory: many.megabytes / few.megabytes,
      fewMegabytes: few.megabytes,
      manyMegabytes: many.megabytes,
    };
  },
};

/** In a process of its own: the memory of this one says what it did before. */
async function serve(redisUrl: string, count: number): Promise<{ cpuMs: number; megabytes: number }> {
  const program = join(import.meta.dirname, 'serve-chats.ts');
  const args = ['--disable-warning=ExperimentalWarning', '--expose-gc', program, redisUrl, String(count)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...BARE_ENV } });
  return JSON.parse(stdout) as { cpuMs: number; megabytes: number };
}
