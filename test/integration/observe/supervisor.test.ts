import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { eachInWorld, shown, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { scrape } from '../../fixture/metrics.ts';
import { type GatewayProcess, spawnRunning } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';

const CHATS = [1001, 1002, 1003, 1004];

eachInWorld();

let gateway: GatewayProcess | undefined;
afterEach(() => gateway?.stop());

const running = () => (gateway?.log ?? []).filter((line) => line.includes('"msg":"running"')).length;
const children = (): number[] => {
  const text = readFileSync(`/proc/${gateway?.pid}/task/${gateway?.pid}/children`, 'utf8');
  return text.trim().split(' ').map(Number);
};
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('two processes answer; one that is killed is started again, and SIGTERM ends all', async () => {
  gateway = await spawnRunning('spillway.ts', { ...world.env, LOG_LEVEL: 'info', WORKERS: '2' });
  await until('two processes', () => running() === 2 || undefined);
  const [first = 0, second = 0] = children();
  for (const chat of CHATS) world.telegram.say(chat, 'hello');
  for (const chat of CHATS) await nextOutcome(world, chat);
  process.kill(first, 'SIGKILL');
  await until('a process in its place', () => running() === 3 || undefined);
  const third = children().find((pid) => pid !== second) ?? 0;
  for (const chat of CHATS) world.telegram.say(chat, 'hello again');
  for (const chat of CHATS) await nextOutcome(world, chat, 2);
  expect(CHATS.map((chat) => shown(chat))).toEqual(CHATS.map(() => ['You said: hello', 'You said: hello again']));
  gateway.kill('SIGTERM');
  expect(await gateway.ended).toBe('0');
  expect([second, third].filter(isAlive)).toEqual([]);
});

test('a scrape shows the metrics of all processes, also of one that was started again; one that is frozen is left out', async () => {
  gateway = await spawnRunning('spillway.ts', { ...world.env, LOG_LEVEL: 'info', WORKERS: '2' });
  await until('two processes', () => running() === 2 || undefined);
  const up = (...places: string[]) => places.map((place) => `spillway_redis_up{process="${place}"}`);
  const shownUp = async () =>
    [...(await scrape(gateway as GatewayProcess)).keys()].filter((name) => /^spillway_redis_up/.test(name));
  // A process that is slow to answer is left out, as one that is frozen is.
  const untilShown = (...places: string[]) =>
    until(
      `a scrape of ${places}`,
      async () => {
        const shown = (await shownUp().catch(() => [])).toSorted();
        return JSON.stringify(shown) === JSON.stringify(up(...places)) || undefined;
      },
      20_000,
    );
  await untilShown('0', '1');
  const [first = 0, second = 0] = children();
  process.kill(first, 'SIGKILL');
  await until('a process in its place', () => running() === 3 || undefined);
  await untilShown('0', '1');
  process.kill(second, 'SIGSTOP');
  try {
    await until('a scrape', async () => ((await shownUp().catch(() => [])).length === 1 ? true : undefined), 20_000);
  } finally {
    process.kill(second, 'SIGCONT');
  }
});

test('a configuration that is refused is said once, and nothing is started again', async () => {
  await world.peek.set(world.keys.shards, '7');
  await expect(
    spawnRunning('spillway.ts', { ...world.env, LOG_LEVEL: 'info', WORKERS: '2' }).then((started) => started.stop()),
  ).rejects.toThrow(/SHARDS/);
});

test.each(['0', '65', 'many', '1.5'])('WORKERS=%s is refused before anything is started', async (count) => {
  await expect(spawnRunning('spillway.ts', { ...world.env, WORKERS: count })).rejects.toThrow(/WORKERS is malformed/);
});
