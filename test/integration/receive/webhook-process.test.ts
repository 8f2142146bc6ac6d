import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { type Front, startFront } from '../../fixture/front.ts';
import { createWorld, type World } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { type GatewayProcess, portOf, spawnGateway } from '../../fixture/process.ts';
import { variants } from '../../fixture/variants.ts';

const CHAT = 1001;

let world: World;
let front: Front;
let spawned: GatewayProcess[] = [];

beforeEach(async () => {
  [world, front] = await Promise.all([createWorld(), startFront()]);
});

afterEach(async () => {
  await Promise.all(spawned.map((gateway) => gateway.stop()));
  spawned = [];
  await Promise.all([world.close(), front.close()]);
});

async function spawn(env: Record<string, string> = {}): Promise<GatewayProcess> {
  const gateway = await spawnGateway(world, { ...front.env, ...env });
  spawned.push(gateway);
  return gateway;
}

const shown = (chatId: number) => world.telegram.shown(chatId).map(({ text }) => text);
const statusesOf = (update: number) =>
  world.telegram.deliveries.filter(({ updateId }) => updateId === update).map(({ status }) => status);

variants<Failpoint>(['update received', 'accepted'])(
  'killed at "%s": the update is delivered again, and has one outcome and one answer',
  async (step) => {
    const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:1` });
    front.behind(portOf(victim));
    const update = world.telegram.say(CHAT, 'Do not lose me');
    world.telegram.say(CHAT, 'and the next');
    expect(await victim.ended).toBe('SIGKILL');
    front.behind(portOf(await spawn()));
    await nextOutcome(world, CHAT, 2);
    expect(statusesOf(update).filter((status) => status === 200)).toEqual([200]);
    expect(statusesOf(update)[0]).toBe(502);
    expect((await settledOutcomes(world)).map(({ outcome }) => outcome)).toEqual(['answered', 'answered']);
    expect(shown(CHAT)).toEqual([expect.stringContaining('Do not lose me'), expect.stringContaining('and the next')]);
    expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  },
);

test('when the process that looks after the webhook is killed, the other receives and looks after it', async () => {
  const [victim, other] = [await spawn(), await spawn()];
  front.behind(portOf(victim), portOf(other));
  const first = world.telegram.say(CHAT, 'to either');
  await nextOutcome(world, CHAT);
  victim.kill('SIGKILL');
  await victim.ended;
  for (let chat = CHAT; chat < CHAT + 5; chat++) world.telegram.say(chat, `hello ${chat}`);
  await untilSettled(world, 6);
  expect(statusesOf(first)).toEqual([200]);
  for (let chat = CHAT; chat < CHAT + 5; chat++) expect(shown(chat).at(-1)).toContain(`hello ${chat}`);
  const settings = () => world.telegram.calls.filter(({ method }) => method === 'setWebhook');
  await world.telegram.waitForCall(() => settings().length === 2);
  expect(new Set(settings().map(({ params }) => JSON.stringify(params))).size).toBe(1);
});

variants([1, 3])(
  '%i deploys under load: SIGTERM neither loses nor doubles a delivery, and each chat keeps its order',
  async (rounds) => {
    const chats = Array.from({ length: 8 }, (_, at) => CHAT + at);
    world.claude.react((call) =>
      call.kind === 'main' ? { do: 'answer', text: call.pendingText, afterMs: 50 } : undefined,
    );
    let running = await spawn();
    front.behind(portOf(running));
    for (let round = 0; round < rounds; round++) {
      for (const chat of chats) for (const part of ['a', 'b']) world.telegram.say(chat, `${round}${part}`);
      await world.claude.waitForCall((call) => call.pendingText === `${round}a`);
      const next = await spawn();
      front.behind(portOf(running), portOf(next));
      running.kill('SIGTERM');
      for (const chat of chats) world.telegram.say(chat, `${round}c`);
      expect(await running.ended).toBe('0');
      front.behind(portOf(next));
      running = next;
    }
    const outcomes = await untilSettled(world, chats.length * rounds * 3);
    expect(outcomes.every(({ outcome }) => outcome === 'answered')).toBe(true);
    const expected = Array.from({ length: rounds }, (_, round) =>
      ['a', 'b', 'c'].map((part) => `${round}${part}`),
    ).flat();
    for (const chat of chats) expect(shown(chat)).toEqual(expected);
    expect(world.telegram.pending()).toBe(0);
  },
);

test('neither the secret nor the URL of the webhook is logged', async () => {
  const gateway = await spawn({ LOG_LEVEL: 'trace' });
  front.behind(portOf(gateway));
  await fetch(front.url, { method: 'POST', headers: { 'x-telegram-bot-api-secret-token': 'a-guess' } });
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  await gateway.stop();
  const log = gateway.log.join('\n');
  expect(log).toContain('the webhook was called without its secret');
  expect(log).not.toMatch(/the_secret-of-the-front|a-guess|\/hook/);
});
