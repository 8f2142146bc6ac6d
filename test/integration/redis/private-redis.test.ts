import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { provideRedis, type RedisSourceOptions } from '../../../shared/app/find-redis.ts';
import { isRunning } from '../../../shared/base/machine.ts';
import {
  type PrivateRedis,
  type PrivateRedisOptions,
  startPrivateRedis,
} from '../../../shared/private-redis/server.ts';
import { cleanUps, ownFolder } from '../../fixture/clean-ups.ts';
import { searchPath } from '../../fixture/environment.ts';
import { freePort } from '../../fixture/free-port.ts';
import { gone, killAtEnd, withClient } from '../../fixture/private-redis.ts';
import { redisServer } from '../../fixture/redis.ts';

const root = join(import.meta.dirname, '..', '..', '..');
/** A server that outlives its stop when a test fails half-way is killed by the pid that it had. */
async function start(dir: string, options: Partial<PrivateRedisOptions> = {}): Promise<PrivateRedis> {
  const redis = await startPrivateRedis({ server: redisServer(), dir, fsync: 'no', ...options });
  killAtEnd(redis.pid);
  return redis;
}

/** A process of its own that starts the server for `dir`, prints its pid and URL, and waits to be killed. */
async function startElsewhere(dir: string): Promise<{ pid: number; url: string; kill9: () => void }> {
  const module = join(root, 'shared', 'private-redis', 'server.ts');
  const script = `
    import { startPrivateRedis } from ${JSON.stringify(module)};
    const options = JSON.parse(process.argv[1]);
    const redis = await startPrivateRedis(options);
    console.log(JSON.stringify({ pid: redis.pid, url: redis.url }));
    setInterval(() => undefined, 1000);
  `;
  const options = JSON.stringify({ server: redisServer(), dir, fsync: 'no' });
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script, options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanUps.push(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const started = JSON.parse(line.toString()) as { pid: number; url: string };
  killAtEnd(started.pid);
  return { ...started, kill9: () => child.kill('SIGKILL') };
}

test('acknowledged data survives a kill -9 of the server and a clean stop, which leaves no process', async () => {
  const dir = await ownFolder();
  const first = await start(dir, { fsync: 'everysec' });
  await withClient(first.url, (client) => client.set('chat', 'remembered'));
  process.kill(first.pid, 'SIGKILL');
  await gone(first.pid);
  const second = await start(dir, { fsync: 'everysec' });
  expect([second.pid === first.pid, second.url]).toEqual([false, first.url]);
  expect(await withClient(second.url, (client) => client.get('chat'))).toBe('remembered');
  for (let time = 0; time < 2; time++) await second.stop();
  expect(isRunning(second.pid)).toBe(false);
  const third = await start(dir);
  expect(await withClient(third.url, (client) => client.get('chat'))).toBe('remembered');
});

test('the server runs with the settings that keep data safe and private, in a folder that lets nobody else in', async () => {
  const dir = await ownFolder();
  await chmod(dir, 0o777);
  const redis = await start(dir, { fsync: 'always', settings: { 'enable-debug-command': 'local' } });
  const expected = {
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'maxmemory-policy': 'noeviction',
    port: '0',
    unixsocketperm: '600',
    'enable-debug-command': 'local',
  };
  await withClient(redis.url, async (client) => {
    for (const [name, value] of Object.entries(expected))
      expect(await client.config('GET', name)).toEqual([name, value]);
  });
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
});

test('all who start in one folder, also at once, use one server, and the last to stop ends it', async () => {
  const dir = await ownFolder();
  for (const isStarterFirst of [true, false]) {
    const pair = [await start(dir), await start(dir)];
    const [first, last] = isStarterFirst ? pair : pair.reverse();
    expect(first).toMatchObject({ url: last?.url, pid: last?.pid });
    await first?.stop();
    expect(await withClient(last?.url ?? '', (client) => client.ping())).toBe('PONG');
    await last?.stop();
    expect(isRunning(last?.pid ?? 0)).toBe(false);
  }
  const many = await Promise.all(Array.from({ length: 5 }, () => start(dir)));
  expect(new Set(many.map(({ pid }) => pid)).size).toBe(1);
  await Promise.all(many.map((redis) => redis.stop()));
  expect(many.map(({ pid }) => isRunning(pid))).toEqual(Array(5).fill(false));
});

test('two processes share one server; a start after a kill -9 of both takes over what they left behind, and ends it', async () => {
  const dir = await ownFolder();
  const [elsewhere, other] = await Promise.all([startElsewhere(dir), startElsewhere(dir)]);
  expect(elsewhere.pid).toBe(other.pid);
  await withClient(elsewhere.url, (client) => client.set('chat', 'remembered'));
  elsewhere.kill9();
  other.kill9();
  const next = await start(dir);
  expect(next.pid).toBe(elsewhere.pid);
  expect(await withClient(next.url, (client) => client.get('chat'))).toBe('remembered');
  await next.stop();
  expect(isRunning(next.pid)).toBe(false);
});

/** What another user of this machine gets who asks the server to take a value; only root can become another user. */
async function asNobody(socket: string): Promise<string> {
  const script = `
    const socket = require('node:net').connect(process.argv[1]);
    socket.on('error', (error) => console.log(error.code)).on('data', (reply) => { console.log(String(reply)); socket.end(); });
    socket.write('SET forged message\\r\\n');
  `;
  const how = { uid: 65_534, gid: 65_534, cwd: '/' };
  return (await promisify(execFile)(process.execPath, ['--eval', script, socket], how)).stdout.trim();
}

(process.getuid?.() === 0 ? test : test.skip)('another user of the machine cannot connect to the server', async () => {
  const dir = await ownFolder();
  const redis = await start(dir);
  const socket = join(dir, 'redis.sock');
  expect(await asNobody(socket)).toBe('EACCES');
  // Not even where the folder lets everybody in.
  await chmod(dir, 0o755);
  expect(await asNobody(socket)).toBe('EACCES');
  expect(await withClient(redis.url, (client) => client.get('forged'))).toBeNull();
});

test('no second server starts in a folder where one of an earlier version still runs, at its port', async () => {
  const dir = await ownFolder();
  const { command, env } = redisServer();
  const port = await freePort();
  const older = spawn(command, ['--port', String(port), '--save', ''], { cwd: dir, env, stdio: 'ignore' });
  cleanUps.push(() => older.kill('SIGKILL'));
  await once(older, 'spawn');
  await expect(start(dir, { holderWaitMs: 500 })).rejects.toThrow(
    `process ${older.pid}) holds ${dir} but does not answer: end it`,
  );
});

test('a socket whose path is longer than the system takes is reached from the folder that one works in', async () => {
  const top = await ownFolder();
  const dir = join(top, 'a folder with spaces and 100%'.repeat(4), 'redis');
  await expect(start(dir)).rejects.toThrow(/is too long for a socket: work in a folder that is nearer to it/);
  const own = process.cwd();
  cleanUps.push(() => process.chdir(own));
  process.chdir(join(dir, '..'));
  const redis = await start(dir);
  expect(Buffer.byteLength(redis.url)).toBeGreaterThan(107);
  expect(await withClient(redis.url, (client) => client.set('chat', 'remembered'))).toBe('OK');
  await redis.stop();
});

test('a process that dies while it starts a server holds up nobody', async () => {
  const dir = await ownFolder();
  const lock = join(dir, 'start.lock');
  const hold = `
    const lock = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(lock)});
    lock.exec('BEGIN EXCLUSIVE');
    console.log('held');
    setInterval(() => {}, 1e6);`;
  const holder = spawn(process.execPath, ['-e', hold], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(holder.stdout, 'data');
  const starting = start(dir);
  expect(await Promise.race([starting.then(() => 'started'), pause(200).then(() => 'waits')])).toBe('waits');
  holder.kill('SIGKILL');
  await starting;
});

test('a server that cannot start is reported with the end of its log', async () => {
  await expect(start(await ownFolder(), { settings: { maxmemory: 'much' } })).rejects.toThrow(
    /did not start: .*exit code 1[\s\S]*argument must be a memory value/,
  );
});

test('a provided server that dies is restarted on its socket with its data, until it is stopped', async () => {
  const dir = await ownFolder();
  const told: string[] = [];
  const source = await provideRedis({ ...provision(dir), onProgress: (line) => told.push(line) });
  if (!source.ok) throw new Error(source.problem);
  cleanUps.push(() => source.stop());
  const killed = await pidAt(source.url);
  killAtEnd(killed);
  const value = await withClient(source.url, async (client) => {
    await client.set('chat', 'remembered');
    process.kill(killed, 'SIGKILL');
    await gone(killed);
    return client.get('chat');
  });
  expect(value).toBe('remembered');
  const revived = await pidAt(source.url);
  killAtEnd(revived);
  // The server answers before its supervisor has heard that it is up.
  while (told.length < 2) await pause(5);
  expect(told).toEqual([expect.stringContaining('has ended'), expect.stringContaining(`up again at ${source.url}`)]);
  await source.stop();
  expect(isRunning(revived)).toBe(false);
});

test('two sources that share a server have one address, at which the killed server comes back', async () => {
  const dir = await ownFolder();
  const sources = [await provideRedis(provision(dir)), await provideRedis(provision(dir))];
  const urls = sources.map((source) => (source.ok ? source.url : source.problem));
  cleanUps.push(async () => {
    for (const source of sources) if (source.ok) await source.stop();
  });
  const [url = ''] = urls;
  expect(urls).toEqual([url, url]);
  const killed = await pidAt(url);
  process.kill(killed, 'SIGKILL');
  await gone(killed);
  const revived = await pidAt(url);
  killAtEnd(revived);
  // Each has its own connection again: the first stop leaves the server to the other, whichever of them owns it.
  const connections = async (client: Redis) =>
    String(await client.client('LIST'))
      .trim()
      .split('\n').length;
  await withClient(url, async (client) => {
    while ((await connections(client)) < 2) await pause(5);
  });
  for (const source of sources) if (source.ok) await source.stop();
});

function provision(dir: string): RedisSourceOptions {
  return { root, path: searchPath(), dir, fsync: 'everysec' };
}

async function pidAt(url: string): Promise<number> {
  return withClient(url, async (client) => Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]));
}
