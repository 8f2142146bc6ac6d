import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { isRunning } from '../../../shared/base/machine.ts';
import {
  type PrivateRedis,
  type PrivateRedisOptions,
  startPrivateRedis,
} from '../../../shared/private-redis/server.ts';
import { cleanUps, ownFolder } from '../../fixture/clean-ups.ts';
import { freePort } from '../../fixture/free-port.ts';
import { gone, killAtEnd, withClient } from '../../fixture/private-redis.ts';
import { freshRedis, redisServer } from '../../fixture/redis.ts';

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

test('acknowledged data survives a kill -9 of the server and a second start in the same folder', async () => {
  const dir = await ownFolder();
  const first = await start(dir, { fsync: 'everysec' });
  await withClient(first.url, (client) => client.set('chat', 'remembered'));
  process.kill(first.pid, 'SIGKILL');
  await gone(first.pid);

  const second = await start(dir, { fsync: 'everysec' });
  expect(second.pid).not.toBe(first.pid);
  expect(second.url).toBe(first.url);
  expect(await withClient(second.url, (client) => client.get('chat'))).toBe('remembered');
  await second.stop();
});

test('data survives a clean stop, and the stop leaves no process', async () => {
  const dir = await ownFolder();
  const first = await start(dir);
  await withClient(first.url, (client) => client.set('chat', 'remembered'));
  await first.stop();
  expect(isRunning(first.pid)).toBe(false);
  await first.stop();

  const second = await start(dir);
  expect(await withClient(second.url, (client) => client.get('chat'))).toBe('remembered');
});

test('the server runs with the settings that keep data safe and private', async () => {
  const redis = await start(await ownFolder(), { fsync: 'always', settings: { 'enable-debug-command': 'local' } });
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
    for (const [name, value] of Object.entries(expected)) {
      expect(await client.config('GET', name)).toEqual([name, value]);
    }
  });
});

test('a second start in a folder attaches to the server that runs there, and its stop leaves it running', async () => {
  const dir = await ownFolder();
  const owner = await start(dir);
  const guest = await start(dir);
  expect(guest).toMatchObject({ url: owner.url, pid: owner.pid });
  await guest.stop();
  expect(isRunning(owner.pid)).toBe(true);
  await owner.stop();
  expect(isRunning(owner.pid)).toBe(false);
});

test('the one that started the server leaves it to another one, and the last one ends it', async () => {
  const dir = await ownFolder();
  const [starter, other] = [await start(dir), await start(dir)];
  await starter.stop();
  expect(await withClient(other.url, (client) => client.ping())).toBe('PONG');
  await other.stop();
  expect(isRunning(starter.pid)).toBe(false);
  await starter.stop();
});

test('of many starts at once in one folder, one starts the server and the others use it', async () => {
  const dir = await ownFolder();
  const started = await Promise.all(Array.from({ length: 5 }, () => start(dir)));
  expect(new Set(started.map((redis) => redis.pid)).size).toBe(1);
  await Promise.all(started.map((redis) => redis.stop()));
  expect(started.map(({ pid }) => isRunning(pid))).toEqual(Array(5).fill(false));
});

test('two processes that start at once in one folder share one server', async () => {
  const dir = await ownFolder();
  const [one, other] = await Promise.all([startElsewhere(dir), startElsewhere(dir)]);
  expect(one.pid).toBe(other.pid);
});

test('a start after a kill -9 of the process takes over the server that it left behind, and ends it', async () => {
  const dir = await ownFolder();
  const elsewhere = await startElsewhere(dir);
  await withClient(elsewhere.url, (client) => client.set('chat', 'remembered'));
  elsewhere.kill9();
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

test('a folder that lets others in is closed at the start', async () => {
  const dir = await ownFolder();
  await chmod(dir, 0o777);
  await start(dir);
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
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

test('clients of a throw-away server reconnect after kill -9 and restart; its stop removes its folder', async () => {
  const redis = await freshRedis();
  const dir = await withClient(redis.url, async (client) => {
    await client.set('chat', 'remembered');
    redis.kill9();
    await redis.restart();
    expect(await client.get('chat')).toBe('remembered');
    return String((await client.config('GET', 'dir'))[1]);
  });
  const { pid } = redis;
  expect((await stat(dir)).mode & 0o077).toBe(0);
  await redis.stop();
  expect(existsSync(dir)).toBe(false);
  expect(isRunning(pid)).toBe(false);
  await redis.stop();
});
