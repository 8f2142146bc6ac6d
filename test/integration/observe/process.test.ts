import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runFile } from '../../fixture/command.ts';
import { createWorld, type World } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { type GatewayProcess, portOf, spawnGateway } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';

const CHAT = 1001;

let world: World;
let gateway: GatewayProcess | undefined;

beforeEach(async () => {
  world = await createWorld();
});

afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await world.close();
});

test('/healthz reports that the process lives, /readyz the state of each part; a port that is taken ends the next one', async () => {
  gateway = await spawnGateway(world);
  const port = portOf(gateway);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({
    parts: { redis: { ready: true }, poller: { ready: true }, 'worker 0': { ready: true } },
  });
  expect((await fetch(`http://127.0.0.1:${port}/elsewhere`)).status).toBe(404);
  const env = { ...world.env, HTTP_PORT: String(port), LOG_LEVEL: 'fatal' };
  const second = await runFile('worker/main.ts', [], env);
  expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/Set HTTP_PORT/) });
});

variants(['SIGTERM', 'SIGINT'] as const)(
  'a %s that comes twice, from a terminal or a service manager and from npm, drains as one does',
  async (signal) => {
    world.claude.react(() => ({ do: 'answer', afterMs: 400 }));
    gateway = await spawnGateway(world);
    world.telegram.say(CHAT, 'finish me');
    await world.claude.waitForCall(() => true);
    gateway.kill(signal);
    await until('a stop', () => gateway?.log.find((line) => line.includes('"msg":"stopping"')));
    gateway.kill(signal);
    expect(await gateway.ended).toBe('0');
    expect(await settledOutcomes(world)).toEqual([expect.objectContaining({ outcome: 'answered', attempts: 1 })]);
  },
);

test('a second Ctrl-C, later, ends the process at once', async () => {
  world.claude.react(() => ({ do: 'hang' }));
  gateway = await spawnGateway(world);
  world.telegram.say(CHAT, 'never');
  await world.claude.waitForCall(() => true);
  const again = setInterval(() => gateway?.kill('SIGINT'), 100);
  expect(await gateway.ended).toBe('130');
  clearInterval(again);
});

test('a turn that outlives the drain time is handed back and uses up no attempt', async () => {
  world.claude.react((call) => (call.index === 0 ? { do: 'hang' } : undefined));
  gateway = await spawnGateway(world);
  world.telegram.say(CHAT, 'too slow');
  await world.claude.waitForCall(() => true);
  gateway.kill('SIGTERM');
  expect(await gateway.ended).toBe('0');
  expect(await settledOutcomes(world)).toEqual([]);
  gateway = await spawnGateway(world);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
});

variants<[string, () => void, () => Promise<void> | void]>([
  ['is away', () => world.redis.kill9(), () => world.redis.restart()],
  ['stands still', () => signalRedis('SIGSTOP'), () => signalRedis('SIGCONT')],
])(
  'a process that is asked to end while Redis %s ends in seconds, and its turn runs again',
  async (_, lose, giveBack) => {
    world.claude.react((call) => (call.index === 0 ? { do: 'hang' } : undefined));
    gateway = await spawnGateway(world);
    world.telegram.say(CHAT, 'hello');
    await world.claude.waitForCall(() => true);
    const ready = `http://127.0.0.1:${portOf(gateway)}/readyz`;
    lose();
    await until('loss of Redis', async () => (await fetch(ready)).status === 503 || undefined);
    gateway.kill('SIGTERM');
    expect(await gateway.ended).toBe('0');
    expect(gateway.log.join()).toContain('Redis is away');
    await giveBack();
    gateway = await spawnGateway(world);
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  },
);

test('neither the bot token, the key, the password of Redis nor the text of a message is logged, even at level trace', async () => {
  const [password, key] = ['secret-of-redis', 'secret-of-the-model'];
  await world.peek.config('SET', 'requirepass', password);
  const redis = world.redis.url.replace('//', `//:${password}@`);
  gateway = await spawnGateway(world, { LOG_LEVEL: 'trace', REDIS_URL: redis, ANTHROPIC_API_KEY: key });
  world.telegram.fail('sendMessage', { do: 'html502' }, 1);
  world.telegram.say(CHAT, 'my private words');
  await nextOutcome(world, CHAT);
  await gateway.stop();
  const log = gateway.log.join('\n');
  for (const secret of [world.telegram.token, key, password, 'my private words']) expect(log).not.toContain(secret);
  await world.peek.config('SET', 'requirepass', '');
});

test('LOG_CONTENT=true logs the text of messages', async () => {
  gateway = await spawnGateway(world, { LOG_CONTENT: 'true' });
  world.telegram.say(CHAT, 'log my words');
  await nextOutcome(world, CHAT);
  await gateway.stop();
  expect(gateway.log.join('\n')).toContain('log my words');
});

function signalRedis(signal: NodeJS.Signals): void {
  process.kill(world.redis.pid, signal);
}
