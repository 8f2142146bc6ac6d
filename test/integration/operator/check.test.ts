import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from '@jest/globals';
import { estimateText } from '../../../worker/model/estimate.ts';
import { OWN_TOOLS_TOKENS } from '../../../worker/setting-files.ts';
import { cleanUps, ownFolder } from '../../fixture/clean-ups.ts';
import { runCli } from '../../fixture/cli.ts';
import { runFile } from '../../fixture/command.ts';
import { eachInWorld, start, world } from '../../fixture/each-test.ts';
import { BARE_ENV } from '../../fixture/environment.ts';
import { portOf, spawnGateway, spawnRunning } from '../../fixture/process.ts';
import { copyProduct } from '../../fixture/product-copy.ts';
import { until } from '../../fixture/root.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachInWorld();

let folder: string;
beforeEach(async () => {
  folder = await ownFolder();
});

const check = (env: Record<string, string> = {}, ...args: string[]) =>
  runCli(['check', ...args], { ...world.env, ...env });

/** Settings that are wrong in several ways, each of which a start would refuse. */
async function wrongFiles(): Promise<Record<string, string>> {
  const [prices, mcp] = [join(folder, 'prices.json'), join(folder, 'mcp.json')];
  await writeFile(prices, '{"m": 1}');
  await writeFile(mcp, '{"mcpServers":{"gone":{}}}');
  return { SYSTEM_PROMPT_FILE: '/nope.txt', MODEL_PRICES_FILE: prices, MCP_CONFIG: mcp, CONTEXT_BUDGET_TOKENS: '10' };
}

const NAMED = [
  /SYSTEM_PROMPT_FILE names a file that is empty or cannot be read/,
  /MODEL_PRICES_FILE is malformed/,
  /MCP_CONFIG is malformed:\nMCP server "gone"/,
  /CONTEXT_BUDGET_TOKENS is 10, but the system prompt and the tools take about \d+ of them/,
];

test('check and start name every wrong file and setting in one run, with exit 2, without a stack, and connections that fail', async () => {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  const wrong = { ...(await wrongFiles()), WORKER_CONCURRENCY: '-1' };
  const inFiles = await runFile('worker/main.ts', [], { ...world.env, ...(await wrongFiles()) });
  const started = await runFile('spillway.ts', [], { ...world.env, ...wrong });
  // A start connects to nothing where a setting is wrong.
  expect(world.telegram.calls).toEqual([]);
  const checked = await runFile('worker/cli/main.ts', ['check'], { ...world.env, ...wrong, REDIS_URL: 'nonsense' });
  const ofSettings = [/WORKER_CONCURRENCY is malformed/, ...NAMED.slice(0, 3)];
  for (const [{ code, stderr }, named] of [
    [inFiles, NAMED],
    [started, ofSettings],
    [checked, [/REDIS_URL is malformed/, ...ofSettings]],
  ] as const) {
    expect(code).toBe(2);
    for (const words of named) expect(stderr).toMatch(words);
    expect(stderr).not.toMatch(/^\s+at /m);
  }
  expect(checked.stdout).toMatch(/^FAILED model: .*check ANTHROPIC_API_KEY/m);
  expect(checked.stdout).toMatch(/^ok {4} telegram: /m);
  // Neither the malformed Redis nor a private one in its place.
  expect(checked.stdout).not.toMatch(/redis/);
});

test('check advises on a switch and a second channel, and judges the room, the address of models and the files', async () => {
  const bare = await check();
  expect(bare.code).toBe(0);
  expect(bare.stdout).toMatch(/^advice second channel: ALERT_WEBHOOK_URL is not set: while Telegram is away/m);
  expect(bare.stdout).toMatch(/^advice dead-man's switch: DEADMAN_URL is not set: if this .* dies, nobody is told/m);
  expect(bare.stdout).toMatch(/^ok {4} room: the system prompt and the tools take about \d+ tokens$/m);
  const hooks = { DEADMAN_URL: 'https://example.org/ping', ALERT_WEBHOOK_URL: 'https://example.org/hook' };
  const set = await check({ ...hooks, ANTHROPIC_BASE_URL: `${world.claude.url}/v1` });
  expect(set.stdout).toMatch(/^ok {4} second channel: ALERT_WEBHOOK_URL: set$/m);
  expect(set.stdout).toMatch(/^ok {4} dead-man's switch: is set$/m);
  expect(set.stdout).toMatch(/^ok {4} model: /m);
  const wrong = `${world.claude.url}/elsewhere`;
  expect((await check({ ANTHROPIC_BASE_URL: wrong })).stdout).toMatch(
    new RegExp(`^FAILED model: .* the endpoint at ${wrong} .*check ANTHROPIC_BASE_URL`, 'm'),
  );
  world.claude.windowTokens = 2_000;
  const narrow = await check();
  expect(narrow.stdout).toMatch(/^FAILED room: The window of claude-opus-5-5 is 2000 tokens, but .* choose a model/m);
  expect(narrow.code).toBe(1);
  const { ok, parts } = JSON.parse((await check(await wrongFiles(), '--json')).stdout);
  const failed = (parts as { part: string; ok: boolean }[]).filter((each) => each.part === 'settings' && !each.ok);
  expect([ok, failed.length]).toEqual([false, 4]);
});

test('the tokens of our own tools are about those that the room counts', async () => {
  await start();
  await ask('hello');
  const tools = estimateText(JSON.stringify(world.claude.calls[0]?.body.tools));
  expect(tools).toBeLessThanOrEqual(OWN_TOOLS_TOKENS);
  expect(tools).toBeGreaterThan(OWN_TOOLS_TOKENS / 2);
});

test('a port that another program has fails, one that our own gateway has is fine, and a free one is', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  cleanUps.push(() => other.close());
  const taken = await check({ HTTP_PORT: String((other.address() as { port: number }).port) });
  expect(taken.code).toBe(1);
  expect(taken.stdout).toMatch(/^FAILED port: 127\.0\.0\.1:\d+ is taken by another program; set HTTP_PORT to another/m);
  const gateway = await spawnGateway(world);
  cleanUps.push(() => gateway.stop());
  await until('a worker', async () => (await world.peek.zcard(world.keys.workers)) || undefined);
  const ours = await check({ HTTP_PORT: String(portOf(gateway)) });
  expect(ours.stdout).toMatch(/^ok {4} port: .* is held by the gateway that runs$/m);
  await world.peek.del(world.keys.workers);
  await gateway.stop();
  expect((await check({ HTTP_PORT: String(portOf(gateway)) })).stdout).toMatch(/^ok {4} port: .* is free/m);
});

test("of .env it is said that everybody can read it, what nothing reads, with the likely name, and what is repeated; others' names are not", async () => {
  const file = join(folder, '.env');
  const lines = Object.entries(world.env).map(([name, value]) => `${name}=${value}`);
  const odd = ['TELEGRAM_ALOWED_IDS=1', 'MODEL_PRICE_FILE=x', 'ZZZ=1', 'SHARDS=1', 'SHARDS=1'];
  const others = ['OTEL_SERVICE_NAME=x', 'AWS_REGION=x', 'GRAFANA_ADMIN_PASSWORD=x', 'HTTPS_PROXY='];
  await writeFile(file, [...lines, ...odd, ...others].join('\n'));
  await chmod(file, 0o644);
  const { code, stderr } = await runFile('worker/cli/main.ts', ['check'], { SPILLWAY_ENV_FILE: file });
  expect(code).toBe(0);
  const warned = stderr.split('\n').filter((line) => line.startsWith('warning: '));
  expect(warned.toSorted()).toEqual([
    expect.stringMatching(/holds secrets.*chmod 600/),
    expect.stringMatching(/SHARDS is in lines \d+ and \d+; the last one counts$/),
    'warning: MODEL_PRICE_FILE is set, but nothing reads it: did you mean MODEL_PRICES_FILE?',
    'warning: TELEGRAM_ALOWED_IDS is set, but nothing reads it: did you mean TELEGRAM_ALLOWED_IDS?',
    'warning: ZZZ is set, but nothing reads it',
  ]);
});

test('the private Redis: started anew, running at its port, and with the data of another number of shards', async () => {
  await copyProduct(folder);
  const { REDIS_URL: _, ...env } = world.env;
  const { PATH = '' } = BARE_ENV;
  const checked = async (more: Record<string, string> = {}) => {
    const given = { env: { ...env, ...more, PATH, SPILLWAY_ENV_FILE: 'none' }, cwd: '/' };
    const main = join(folder, 'worker', 'cli', 'main.ts');
    return promisify(execFile)(process.execPath, [main, 'check'], given).catch((error) => error as { stdout: string });
  };
  expect((await checked()).stdout).toMatch(/^ok {4} redis: a private server will be started \(/m);
  const gateway = await spawnRunning('spillway.ts', { ...env, LOG_LEVEL: 'info' }, { root: folder });
  cleanUps.push(() => gateway.stop());
  expect((await checked()).stdout).toMatch(
    /^ok {4} redis: a private server runs \(process \d+\); master, takes writes/m,
  );
  expect((await checked({ SHARDS: '2' })).stdout).toMatch(/^FAILED redis: SHARDS is 2, but the data/m);
  await gateway.stop();
  expect((await checked()).stdout).toMatch(/^ok {4} redis: a private server, started for this check; master/m);
});
