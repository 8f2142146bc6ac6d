import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { freePort } from '../../fixture/free-port.ts';
import { redisServer, temporaryFolder } from '../../fixture/redis.ts';

type Shell = ChildProcessByStdio<null, null, Readable>;

const PASSWORD = 'a1'.repeat(16);

let dir: string;
let port: number;
const started: Shell[] = [];

beforeEach(async () => {
  dir = await temporaryFolder();
  port = await freePort();
});
afterEach(async () => {
  for (const child of started.splice(0))
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  await rm(dir, { recursive: true, force: true });
});

/** What Compose gives the shell of the Redis container. */
function commandOfCompose(): string {
  const compose = readFileSync(join(PROJECT_ROOT, 'docker-compose.yml'), 'utf8');
  const [, lines = ''] = /^ {4}command:\n {6}- \|\n((?: {8}.*\n)+)/m.exec(compose) ?? [];
  return lines.replaceAll(/^ {8}/gm, '').replaceAll('$$', '$');
}

/** Runs it as the container would, but with a server at a port and in a folder of this test. */
async function run(password: string): Promise<Shell> {
  const { command, env } = redisServer();
  const server = join(dir, 'redis-server');
  await writeFile(server, `#!/bin/sh\nexec '${command}' "$@" --port ${port}\n`, { mode: 0o700 });
  const child = spawn('/bin/sh', ['-c', commandOfCompose()], {
    cwd: dir,
    env: { ...env, PATH: `${dir}:${process.env.PATH}`, REDISCLI_AUTH: password },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  return child;
}

async function ask(password?: string): Promise<string> {
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => 20, ...(password && { password }) });
  redis.on('error', () => {});
  try {
    return await redis.ping().catch((error: Error) => error.message);
  } finally {
    redis.disconnect();
  }
}

test('the Redis of the compose file answers nobody without the password, and shows it to nobody', async () => {
  const child = await run(PASSWORD);
  expect(await ask(PASSWORD)).toBe('PONG');
  expect(await ask()).toMatch(/^NOAUTH/);
  // The shell has become the server, so a stop reaches it.
  const words = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8');
  expect(words).toMatch(/redis-server/);
  expect(words).not.toContain(PASSWORD);
});

test.each(['', 'two words', 'with"quote', 'p@ss:word'])(
  'with the password %j it does not start, and says why',
  async (bad) => {
    const child = await run(bad);
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(said).toBe('Set REDIS_PASSWORD in .env, of letters and digits: openssl rand -hex 32\n');
    expect(code).toBe(1);
  },
);

test('Redis is published at no port, and the gateway has its password', () => {
  const compose = readFileSync(join(PROJECT_ROOT, 'docker-compose.yml'), 'utf8');
  const [, redis = ''] = /^ {2}redis:\n([\s\S]*?)^ {2}\w/m.exec(compose) ?? [];
  expect(redis).toContain('networks: [store]');
  expect(redis).not.toContain('ports:');
  expect(compose).toMatch(/^ {6}REDIS_URL: redis:\/\/:\$\{REDIS_PASSWORD:-\}@redis:6379$/m);
});
