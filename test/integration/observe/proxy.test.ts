import { writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { runFile } from '../../fixture/command.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';
import { spawnGateway } from '../../fixture/process.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { closeServer, listen } from '../../stand-in/loopback.ts';

let proxied: Set<string>;
let env: Record<string, string>;

/** A proxy, the only way to the names of the two stand-ins: it forwards requests and opens tunnels. */
async function startProxy(places: Readonly<Record<string, string>>): Promise<string> {
  const portOf = (host: string): number => Number(URL.parse(places[host] ?? '')?.port);
  const server = createServer((from, answer) => {
    const url = new URL(from.url ?? '');
    proxied.add(url.hostname);
    const { method, headers } = from;
    const to = request({ port: portOf(url.hostname), path: url.pathname + url.search, method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    to.on('error', () => answer.destroy());
    from.pipe(to);
  });
  server.on('connect', ({ url = '' }, from) => {
    const host = url.split(':')[0] ?? '';
    proxied.add(host);
    const to = connect(portOf(host), '127.0.0.1', () => {
      from.write('HTTP/1.1 200 OK\r\n\r\n');
      from.pipe(to).pipe(from);
    });
    for (const each of [to, from]) each.on('error', () => to.destroy(from.destroy() as never));
  });
  cleanUps.push(() => closeServer(server));
  return listen(server);
}

eachInWorld();
beforeEach(async () => {
  proxied = new Set();
  const proxy = await startProxy({ 'telegram.test': world.telegram.url, 'claude.test': world.claude.url });
  const file = join(await temporaryFolder(), '.env');
  await writeFile(file, `HTTP_PROXY=${proxy}\nTELEGRAM_API_ROOT=http://telegram.test\n`);
  const { TELEGRAM_API_ROOT: _, ...others } = world.env;
  env = { ...others, ANTHROPIC_BASE_URL: 'http://claude.test', SPILLWAY_ENV_FILE: file };
});

test('a proxy that stands in .env leads to Telegram and to the model, and check names it', async () => {
  const gateway = await spawnGateway({ ...world, env });
  try {
    expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  } finally {
    await gateway.stop();
  }
  expect([...proxied].toSorted()).toEqual(['claude.test', 'telegram.test']);
  const { stdout } = await runFile('worker/cli/main.ts', ['check'], env);
  expect(stdout).toMatch(/^ok {4} proxy: http by 127\.0\.0\.1:\d+; Redis and this machine are reached directly$/m);
  expect(stdout).toMatch(/^ok {4} model: /m);
});

test('a malformed proxy is named beside the other problems of the settings, and nothing starts', async () => {
  const wrong = { SPILLWAY_ENV_FILE: 'none', HTTPS_PROXY: 'proxy.example:3128', SHARDS: 'many' };
  const { code, stderr } = await runFile('spillway.ts', [], { ...env, ...wrong });
  expect(code).toBe(2);
  expect(stderr).toContain('HTTPS_PROXY is malformed: expected');
  expect(stderr).toContain('SHARDS');
});
