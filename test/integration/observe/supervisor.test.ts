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

/** Waits for a scrape with the metrics of so many processes, the first ones of their places. */
const untilScraped = (processes: number) =>
  until(
    `a scrape of ${processes}`,
    async () => {
      const seen = [...(await scrape(gateway as GatewayProcess).catch(() => new Map())).keys()];
      const up = seen.filter((name) => /^spillway_redis_up\{process="[01]"\}/.test(name));
      return new Set(up).size === processes || undefined;
    },
    20_000,
  );
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

test('two processes answer and are scraped; one that is killed is started again, a frozen one left out; SIGTERM ends all', async () => {
  gateway = await spawnRunning('spillway.ts', { ...world.env, LOG_LEVEL: 'info', WORKERS: '2' });
  await until('two processes', () => running() === 2 || undefined);
  await untilScraped(2);
  const [first = 0, second = 0] = children();
  for (const chat of CHATS) world.telegram.say(chat, 'hello');
  for (const chat of CHATS) await nextOutcome(world, chat);
  process.kill(first, 'SIGKILL');
  await until('a process in its place', () => running() === 3 || undefined);
  const third = children().find((pid) => pid !== second) ?? 0;
  for (const chat of CHATS) world.telegram.say(chat, 'hello again');
  for (const chat of CHATS) await nextOutcome(world, chat, 2);
  expect(CHATS.map((chat) => shown(chat))).toEqual(CHATS.map(() => ['You said: hello', 'You said: hello again']));
  await untilScraped(2);
  process.kill(second, 'SIGSTOP');
  try {
    await untilScraped(1);
  } finally {
    process.kill(second, 'SIGCONT');
  }
  gateway.kill('SIGTERM');
  expect(await gateway.ended).toBe('0');
  expect([second, third].filter(isAlive)).toEqual([]);
});

test('a configuration that is refused is said once, and nothing is started again', async () => {
  for (const WORKERS of ['0', '65', 'many', '1.5'])
    await expect(spawnRunning('spillway.ts', { ...world.env, WORKERS })).rejects.toThrow(/WORKERS is malformed/);
  await world.peek.set(world.keys.shards, '7');
  await expect(
    spawnRunning('spillway.ts', { ...world.env, LOG_LEVEL: 'info', WORKERS: '2' }).then((started) => started.stop()),
  ).rejects.toThrow(/SHARDS/);
});
