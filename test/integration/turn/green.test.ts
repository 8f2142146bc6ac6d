import { expect, test } from '@jest/globals';
import { noteStart } from '../../../shared/state/process/process.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, spawn, start, trouble, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { portOf } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';
import { booked, dayBook, spend } from '../../fixture/spending.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

eachInWorld();

const LIMITS = { alertEveryMs: 50, watchEveryMs: 100, probeEveryMs: 200 };

async function firstLine(): Promise<string> {
  return (await runCli(['status'], world.env)).stdout.split('\n')[0] ?? '';
}

/** Waits for a first line of `status`; says what the last one was instead. */
async function untilStatus(pattern: RegExp, withinMs = 30_000): Promise<void> {
  let last = '';
  const look = async () => {
    last = await firstLine();
    return pattern.test(last) || undefined;
  };
  await until('status', look, withinMs).catch(() => expect(last).toMatch(pattern));
}

async function readyz(port: number): Promise<{ code: number; status: string; installation: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`);
  const { status, parts } = (await response.json()) as {
    status: string;
    parts: Record<string, { detail?: string }>;
  };
  return { code: response.status, status, installation: parts.installation?.detail ?? '' };
}

/** The calls that nobody's message made. */
function probes() {
  return world.claude.calls.filter(({ pendingText }) => /test of the connection|Say ok/.test(pendingText));
}

test('a window of 1,000 tokens fails every message: red and not ready, yellow once it is repaired, green once they are replayed', async () => {
  const gateway = await spawn();
  const port = portOf(gateway);
  await ask('hello');
  await untilStatus(/^GREEN {2}All is well/);
  expect((await readyz(port)).code).toBe(200);
  world.claude.windowTokens = 1_000;
  for (const [nth, words] of ['one', 'two', 'three'].entries()) {
    expect(await ask(words, nth + 2)).toMatchObject({ outcome: 'failed' });
  }
  await untilStatus(/^RED {2}/);
  expect(await runCli(['status'], world.env)).toMatchObject({ code: 1 });
  await until('not ready', async () => (await readyz(port)).code === 503 || undefined);
  expect(await readyz(port)).toMatchObject({ status: 'not ready', installation: expect.stringMatching(/^red: /) });
  world.claude.windowTokens = 200_000;
  await untilStatus(/^YELLOW {2}3 messages failed and were neither replayed nor closed\./, 45_000);
  expect(await runCli(['status'], world.env)).toMatchObject({ code: 0 });
  await until('ready', async () => (await readyz(port)).code === 200 || undefined);
  await world.telegram.waitForText(ALERT_CHAT, /Resolved: the endpoint accepts requests again\. 3 messages failed/);
  expect(await runCli(['dead', 'replay', '--all'], world.env)).toMatchObject({ code: 0 });
  await untilStatus(/^GREEN {2}All is well/);
});

test('a revoked key is red after one message, is probed by one of two processes at a pace, and is over without anybody writing', async () => {
  const mend = trouble(LIES.key);
  const pace = { ...LIMITS, probeEveryMs: 500 };
  await start({}, pace);
  await start({}, pace);
  expect(await ask('hello')).toMatchObject({ outcome: 'failed', reason: 'authentication' });
  await untilStatus(/^RED {2}The model endpoint does not accept our API key/);
  await until('probes', () => probes().length >= 4 || undefined);
  const [first, , , fourth] = probes();
  // Two that know nothing of each other need one second at most.
  expect(Number(fourth?.at) - Number(first?.at)).toBeGreaterThan(1_200);
  expect(first?.body).toMatchObject({ max_tokens: 16 });
  expect(first?.body.system ?? []).toHaveLength(0);
  expect(first?.body.tools ?? []).toHaveLength(0);
  mend();
  await untilStatus(/^YELLOW {2}1 message failed and was neither replayed nor closed\./);
  const asked = probes().length;
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved/);
  // The other process may not have seen the end when its probe was due.
  expect(probes().length).toBeLessThanOrEqual(asked + 1);
});

test('what the gateway asks to see whether the endpoint is mended is booked, and is not asked once the limit is used up', async () => {
  world.claude.react(() => ({ do: 'answer', stopReason: 'refusal' }));
  await start({ TOTAL_DAILY_USD: '25' }, LIMITS);
  const alert = { cause: 'fixed-parts', text: 'The endpoint refuses every request.' };
  await world.peek.xadd(world.keys.alerts, '*', 'alert', JSON.stringify(alert));
  await until('a probe', () => probes().length > 0 || undefined);
  await until('what it cost', async () => (await booked('all:usd')) > 0 || undefined);
  await spend('all:usd', 25);
  await until('a refusal', async () => (await world.peek.hexists(dayBook(), 'all:usd:refused')) || undefined);
  const asked = probes().length;
  await world.peek.del(world.keys.endpointProbe);
  await until('the next try', async () => (await world.peek.exists(world.keys.endpointProbe)) || undefined);
  expect(probes()).toHaveLength(asked);
});

test('what failed while the clock of Redis was ahead does not stand before what was answered since', async () => {
  const ended = (outcome: string, settledAtMs: number) =>
    world.peek.xadd(world.keys.outcomes, '*', 'outcome', outcome, 'record', JSON.stringify({ outcome, settledAtMs }));
  await world.peek.zadd(world.keys.workers, Date.now(), 'a worker');
  for (let nth = 0; nth < 10; nth++) await ended('failed', Date.now() + 3_600_000);
  expect(await firstLine()).toMatch(/^RED {2}10 of the last 10 messages failed/);
  for (let nth = 0; nth < 10; nth++) await ended('answered', Date.now());
  expect(await firstLine()).toMatch(/^GREEN/);
});

test('a start is starting, once, and not red; a stop takes its worker away at once', async () => {
  // A gateway that dies at each start.
  await world.peek.set('{sw:0}:starting', '', 'PX', 560_000);
  await noteStart(world.peek);
  expect(await firstLine()).toMatch(/^RED {2}No worker process is alive\./);
  await world.peek.del('{sw:0}:starting');
  await world.peek.hset(world.keys.poll, 'firstMs', 1, 'lastAnswerMs', Date.now() - 3_600_000);
  expect(await firstLine()).toMatch(/^RED/);
  // Telegram is silent, so that the first poll succeeds only when it is let.
  world.telegram.fail('getUpdates', { do: 'hang' }, 1);
  const gateway = await spawn();
  await until('a start', async () => (await world.peek.exists('{sw:0}:starting')) || undefined);
  const early = await runCli(['status'], world.env);
  expect(early).toMatchObject({ code: 0, stdout: expect.stringMatching(/^STARTING/) });
  // The worker connects first.
  await until('a start', async () => (await readyz(portOf(gateway))).status === 'starting' || undefined);
  expect(await readyz(portOf(gateway))).toMatchObject({ code: 503 });
  world.telegram.heal();
  await world.peek.del('{sw:0}:starting');
  await until('a worker', async () => (await world.peek.zcard(world.keys.workers)) || undefined);
  await gateway.stop();
  expect(await world.peek.zcard(world.keys.workers)).toBe(0);
  expect(await firstLine()).toMatch(/^RED {2}No worker process is alive\./);
});

test('a Redis with almost no room left is red and not ready until there is room, and no worker is said to be gone', async () => {
  const port = portOf(await spawn());
  const heartbeat = async () => Number((await world.peek.zrange(world.keys.workers, '0', '0', 'WITHSCORES'))[1]);
  const nextHeartbeat = async () => {
    const before = await heartbeat();
    await until('a heartbeat', async () => (await heartbeat()) > before || undefined);
  };
  await until('ready', async () => (await readyz(port)).code === 200 || undefined);
  const used = Number(/used_memory:(\d+)/.exec(await world.peek.info('memory'))?.[1]);
  await world.peek.config('SET', 'maxmemory', String(used + 100_000));
  await until('not ready', async () => (await readyz(port)).code === 503 || undefined);
  expect(await firstLine()).toMatch(/^RED {2}Redis answers, but takes no writes/);
  // Enough to prove room once, and not enough to end the trouble.
  await world.peek.config('SET', 'maxmemory', String(used + 450_000));
  for (let nth = 0; nth < 3; nth += 1) {
    await nextHeartbeat();
    expect((await readyz(port)).code).toBe(503);
  }
  await world.peek.config('SET', 'maxmemory', '1');
  await nextHeartbeat();
  await world.peek.config('SET', 'maxmemory', '0');
  await until('ready', async () => (await readyz(port)).code === 200 || undefined);
});
