import { afterEach, beforeEach, expect } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { CHAT, eachInWorld, shown, spawn, world } from '../../fixture/each-test.ts';
import { type Front, startFront } from '../../fixture/front.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { portOf } from '../../fixture/process.ts';
import { variants } from '../../fixture/variants.ts';

let front: Front;

eachInWorld();
beforeEach(async () => {
  front = await startFront();
  Object.assign(world.env, front.env);
});
afterEach(() => front.close());

const statusesOf = (update: number) =>
  world.telegram.deliveries.filter(({ updateId }) => updateId === update).map(({ status }) => status);

variants<Failpoint>(['update received', 'accepted'])(
  'killed at "%s": the update is delivered again, and has one outcome and one answer; no log has the secret or the URL',
  async (step) => {
    const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:1` });
    front.behind(portOf(victim));
    const update = world.telegram.say(CHAT, 'Do not lose me');
    world.telegram.say(CHAT, 'and the next');
    expect(await victim.ended).toBe('SIGKILL');
    const heir = await spawn({ LOG_LEVEL: 'trace' });
    front.behind(portOf(heir));
    await nextOutcome(world, CHAT, 2);
    expect(statusesOf(update).filter((status) => status === 200)).toEqual([200]);
    expect(statusesOf(update)[0]).toBe(502);
    expect((await settledOutcomes(world)).map(({ outcome }) => outcome)).toEqual(['answered', 'answered']);
    expect(shown()).toEqual([expect.stringContaining('Do not lose me'), expect.stringContaining('and the next')]);
    expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
    await fetch(front.url, { method: 'POST', headers: { 'x-telegram-bot-api-secret-token': 'a-guess' } });
    await heir.stop();
    const log = heir.log.join('\n');
    expect(log).toContain('the webhook was called without its secret');
    expect(log).not.toMatch(/the_secret-of-the-front|a-guess|\/hook/);
  },
);

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
