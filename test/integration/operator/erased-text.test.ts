import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { findRunning } from '../../../shared/private-redis/running-server.ts';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, world } from '../../fixture/each-test.ts';
import { BARE_ENV } from '../../fixture/environment.ts';
import { withClient } from '../../fixture/private-redis.ts';
import { type GatewayProcess, spawnRunning } from '../../fixture/process.ts';
import { copyProduct } from '../../fixture/product-copy.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

const SECRET = 'the-word-that-nobody-may-find';
const OTHER = CHAT + 1;
let folder: string;
let gateway: GatewayProcess | undefined;
/** Ends the answer that another chat waits for. */
let release: () => void;

beforeEach(async () => {
  folder = await temporaryFolder();
  await copyProduct(folder);
  const { promise, resolve } = Promise.withResolvers<void>();
  release = resolve;
  world.claude.react(({ pendingText }) =>
    pendingText === 'wait' ? { do: 'answer', after: promise } : { do: 'answer', text: 'an answer' },
  );
});

afterEach(async () => {
  release();
  await gateway?.stop();
  // A gateway that was killed leaves its server.
  const pid = await findRunning(join(folder, 'data', 'redis'));
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** The settings of a gateway with a private Redis, in which files are kept, too. */
function settings(): Record<string, string> {
  const { REDIS_URL: _, ...env } = world.env;
  return { ...env, LOG_LEVEL: 'info' };
}

async function startHere(): Promise<void> {
  gateway = await spawnRunning('spillway.ts', settings(), { root: folder });
}

const withServer = <T>(work: (redis: Redis) => Promise<T>) =>
  withClient(`unix://${join(folder, 'data', 'redis', 'redis.sock')}`, work);

/** The files of the private Redis in which the text is. */
async function filesWith(text: string): Promise<string[]> {
  const dir = join(folder, 'data', 'redis');
  const names = await readdir(dir, { recursive: true });
  const contents = await Promise.all(names.map((name) => readFile(join(dir, name), 'latin1').catch(() => '')));
  return names.filter((_, at) => contents[at]?.includes(text));
}

const untilShown = (text: string, chat = CHAT) =>
  until(`"${text}"`, () => world.telegram.shown(chat).find((each) => each.text === text));
const untilGone = () =>
  until('files without the text', async () => ((await filesWith(SECRET)).length === 0 ? true : undefined), 20_000);

/** Says the secret while another chat's message, its neighbour on the stream, is being answered. */
async function saySecret(): Promise<void> {
  // What is compressed cannot be found here, but elsewhere.
  await withServer((redis) => redis.config('SET', 'rdbcompression', 'no'));
  world.telegram.say(OTHER, 'wait');
  await until('question', () => world.claude.calls.find(({ body }) => JSON.stringify(body).includes('wait')));
  world.telegram.say(CHAT, SECRET);
  await untilShown('an answer');
  expect(await filesWith(SECRET)).not.toEqual([]);
}

test('/forget removes the text from the files of the private Redis, while other chats go on', async () => {
  await startHere();
  await saySecret();
  world.telegram.say(CHAT, '/forget yes');
  await untilShown(EN.forgotten);
  await untilGone();
});

test('a gateway that was killed after /forget removes the text when it is started again', async () => {
  await startHere();
  await saySecret();
  await withServer(async (redis) => {
    await redis.acl('SETUSER', 'default', '-bgrewriteaof');
    world.telegram.say(CHAT, '/forget yes');
    await untilShown(EN.forgotten);
    gateway?.kill('SIGKILL');
    await gateway?.ended;
    expect(await filesWith(SECRET)).not.toEqual([]);
    await redis.acl('SETUSER', 'default', '+bgrewriteaof');
  });
  await startHere();
  await untilGone();
});

test('session forget without a gateway has removed the text from the files when it ends', async () => {
  await startHere();
  await saySecret();
  release();
  await gateway?.stop();
  const { PATH = '' } = BARE_ENV;
  const env = { ...settings(), PATH, SPILLWAY_ENV_FILE: 'none' };
  const main = join(folder, 'worker', 'cli', 'main.ts');
  const ran = await promisify(execFile)(process.execPath, [main, 'session', 'forget', String(CHAT), '--yes'], { env });
  expect(ran.stdout).toContain(`All of chat ${CHAT} is erased.`);
  expect(await filesWith(SECRET)).toEqual([]);
});
