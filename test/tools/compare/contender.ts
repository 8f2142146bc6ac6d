import { temporaryBlobs } from '../../fixture/blobs.ts';
import { type GatewayProcess, spawnRunning } from '../../fixture/process.ts';

/** A bot that is compared: the program that it is, and what it needs beside the settings that all have. */
export interface Contender {
  readonly name: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  /** Options of Node itself, as its own start gives them. */
  readonly execArgv?: readonly string[];
}

/** The bots, in the order of the table. */
export const CONTENDERS: readonly Contender[] = [
  { name: 'plain handler', file: 'test/tools/compare/plain-handler.ts', env: {} },
  { name: 'plain BullMQ', file: 'test/tools/compare/plain-bullmq.ts', env: {} },
  { name: 'Spillway', file: 'spillway.ts', env: {}, execArgv: ['--max-semi-space-size=4'] },
];

/** A contender whose process can be killed and started anew. */
export interface Running {
  readonly pid: number;
  /** kill -9, and another one in its place. */
  replace(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a contender. */
export async function startContender(
  { file, env, execArgv = [] }: Contender,
  outside: Readonly<Record<string, string>>,
): Promise<Running> {
  const blobs = await temporaryBlobs();
  const spawn = (): Promise<GatewayProcess> => spawnRunning(file, { ...outside, ...blobs.env, ...env }, { execArgv });
  let bot = await spawn();
  return {
    get pid() {
      return bot.pid;
    },
    async replace() {
      bot.kill('SIGKILL');
      await bot.ended;
      bot = await spawn();
    },
    async stop() {
      await bot.stop();
      await blobs.remove();
    },
  };
}
