import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, spawn, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { portOf } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

const EVICTING =
  /Redis deletes data when it is full \(maxmemory-policy allkeys-lru\).*CONFIG SET maxmemory-policy noeviction/;
const VOLATILE = /Redis has neither an append-only file nor snapshots.*accept the risk with REDIS_ACCEPT=volatile/;
const UNLIMITED = /Redis has no memory limit.*CONFIG SET maxmemory .*accept the risk with REDIS_ACCEPT=unlimited/;

/** What the server runs with from now on. */
async function given(settings: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) await world.peek.config('SET', name, value);
}

const check = async (env: Record<string, string> = {}) => (await runCli(['check'], { ...world.env, ...env })).stdout;
const status = async () => (await runCli(['status'], world.env)).stdout;
/** A user of a managed server, which keeps its settings to itself. */
async function withoutConfig(): Promise<{ REDIS_URL: string }> {
  await world.peek.acl('SETUSER', 'managed', 'on', '>word', '~*', '&*', '+@all', '-config');
  return { REDIS_URL: world.redis.url.replace('redis://', 'redis://managed:word@') };
}

test('a Redis that evicts is refused at the start and by check, also by a user who may not read its settings', async () => {
  await given({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' });
  await expect(spawn()).rejects.toThrow(new RegExp(`ended \\(2\\)[^]*${EVICTING.source}`));
  expect(await check()).toMatch(new RegExp(`^FAILED redis: ${EVICTING.source}`, 'm'));
  const env = await withoutConfig();
  await expect(spawn(env)).rejects.toThrow(new RegExp(`ended \\(2\\)[^]*${EVICTING.source}`));
  expect(await check(env)).toMatch(new RegExp(`^FAILED redis: ${EVICTING.source}`, 'm'));
  // One that may never be full evicts nothing.
  await given({ maxmemory: '0' });
  const gateway = await spawn(env);
  expect((await fetch(`http://127.0.0.1:${portOf(gateway)}/healthz`)).status).toBe(200);
});

test.each([
  ['volatile', { appendonly: 'no', save: '' }, VOLATILE, /MB, \d+ %; takes writes; writes nothing to disk$/m],
  ['unlimited', { maxmemory: '0' }, UNLIMITED, /^Redis {8}\d+ MB without a limit; takes writes$/m],
])(
  'a Redis that is %s is named at the start, by check and status, unless accepted',
  async (name, settings, words, stated) => {
    const told = (log: readonly string[]) =>
      log.filter((line) => words.test(line)).map((line) => JSON.parse(line).level);
    expect(await status()).toMatch(/^Redis {8}\d+ MB of \d+ MB, \d+ %; takes writes$/m);
    await given(settings);
    expect(await status()).toMatch(stated);
    const gateway = await spawn();
    await until('the warning', () => (told(gateway.log).length > 0 ? true : undefined));
    expect(told(gateway.log)).toEqual([40]);
    expect(await check()).toMatch(new RegExp(`^advice redis: ${words.source}`, 'm'));
    const accepted = { REDIS_ACCEPT: name };
    expect(told((await spawn(accepted)).log)).toEqual([]);
    expect(await check(accepted)).not.toMatch(words);
  },
);

test.each([
  [{ 'maxmemory-policy': 'allkeys-lru', maxmemory: '100mb' }, EVICTING, { 'maxmemory-policy': 'noeviction' }],
  // Snapshots lose what came after the last one, and keep the rest.
  [{ appendonly: 'no', save: '' }, /Redis has neither an append-only file nor snapshots/, { save: '60 1' }],
])('a running gateway alerts when %j is set, and when it is put right', async (worse, words, better) => {
  await start({}, { watchEveryMs: 100 });
  await given(worse as Record<string, string>);
  await world.telegram.waitForText(ALERT_CHAT, words);
  expect(await status()).toMatch(words);
  await given(better as Record<string, string>);
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: Redis (?:has room again|writes to disk again)/m);
});
