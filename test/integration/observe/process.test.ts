import { expect, test } from '@jest/globals';
import { runFile } from '../../fixture/command.ts';
import { CHAT, eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { portOf } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachInWorld();

test('/healthz reports that the process lives, /readyz the state of each part; a port that is taken ends the next one', async () => {
  const gateway = await spawn();
  const port = portOf(gateway);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  await ask('hello');
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
    const gateway = await spawn();
    world.telegram.say(CHAT, 'finish me');
    await world.claude.waitForCall(() => true);
    gateway.kill(signal);
    await until('a stop', () => gateway.log.find((line) => line.includes('"msg":"stopping"')));
    gateway.kill(signal);
    expect(await gateway.ended).toBe('0');
    expect(await settledOutcomes(world)).toEqual([expect.objectContaining({ outcome: 'answered', attempts: 1 })]);
  },
);

test('a second Ctrl-C, later, ends the process at once', async () => {
  world.claude.react(() => ({ do: 'hang' }));
  const gateway = await spawn();
  world.telegram.say(CHAT, 'never');
  await world.claude.waitForCall(() => true);
  const again = setInterval(() => gateway.kill('SIGINT'), 100);
  expect(await gateway.ended).toBe('130');
  clearInterval(again);
});

test('a turn that outlives the drain time is handed back and uses up no attempt', async () => {
  world.claude.react((call) => (call.index === 0 ? { do: 'hang' } : undefined));
  // On a busy machine a process loses short locks, and then a message has more attempts.
  const patient = { TEST_LOCK_MS: '30000' };
  const gateway = await spawn(patient);
  world.telegram.say(CHAT, 'too slow');
  await world.claude.waitForCall(() => true);
  gateway.kill('SIGTERM');
  expect(await gateway.ended).toBe('0');
  expect(await settledOutcomes(world)).toEqual([]);
  await spawn(patient);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
});

variants<[string, () => void, () => Promise<void> | void]>([
  ['is away', () => world.redis.kill9(), () => world.redis.restart()],
  ['stands still', () => signalRedis('SIGSTOP'), () => signalRedis('SIGCONT')],
])(
  'a process that is asked to end while Redis %s ends in seconds, and its turn runs again',
  async (_, lose, giveBack) => {
    world.claude.react((call) => (call.index === 0 ? { do: 'hang' } : undefined));
    const gateway = await spawn();
    world.telegram.say(CHAT, 'hello');
    await world.claude.waitForCall(() => true);
    const ready = `http://127.0.0.1:${portOf(gateway)}/readyz`;
    lose();
    await until('loss of Redis', async () => (await fetch(ready)).status === 503 || undefined);
    gateway.kill('SIGTERM');
    expect(await gateway.ended).toBe('0');
    expect(gateway.log.join()).toContain('Redis is away');
    await giveBack();
    await spawn();
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  },
);

test('neither the bot token, the key, the password of Redis nor, but with LOG_CONTENT, a text is logged, even at level trace', async () => {
  const [password, key] = ['secret-of-redis', 'secret-of-the-model'];
  await world.peek.config('SET', 'requirepass', password);
  const redis = world.redis.url.replace('//', `//:${password}@`);
  const secretly = { LOG_LEVEL: 'trace', REDIS_URL: redis, ANTHROPIC_API_KEY: key };
  const logOf = async (env: Record<string, string>, nth: number) => {
    const gateway = await spawn({ ...secretly, ...env });
    world.telegram.fail('sendMessage', { do: 'html502' }, 1);
    await ask('my private words', nth);
    await gateway.stop();
    return gateway.log.join('\n');
  };
  const [log, open] = [await logOf({}, 1), await logOf({ LOG_CONTENT: 'true' }, 2)];
  expect(log).not.toContain('my private words');
  expect(open).toContain('my private words');
  for (const secret of [world.telegram.token, key, password]) expect(log + open).not.toContain(secret);
  await world.peek.config('SET', 'requirepass', '');
});

function signalRedis(signal: NodeJS.Signals): void {
  process.kill(world.redis.pid, signal);
}
