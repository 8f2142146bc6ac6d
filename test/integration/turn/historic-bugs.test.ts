/** Bugs of other gateways that show only when the whole flow runs. What the notes call them is in brackets. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { createWorld, startGateway, type World } from '../../fixture/gateway.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const CHAT = 1001;

let world: World;
let gateway: Service;

beforeEach(async () => {
  world = await createWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });
  gateway = await startGateway(world);
});

afterEach(async () => {
  await gateway.stop();
  await world.close();
});

function mainCalls() {
  return world.claude.calls.filter(({ kind }) => kind === 'main');
}

test('dedupe does not drop the retry: a recovered message and its twin are both answered [openclaw#76424]', async () => {
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(100, 1_000)));
  world.telegram.say(CHAT, 'same words');
  world.telegram.say(CHAT, 'same words');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(world.telegram.shown(CHAT)).toHaveLength(2);
});

test('the chat pointer follows to the fresh session, and so does the next message [hermes#1160]', async () => {
  const old = await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(100, 1_000)));
  world.claude.react((call) =>
    call.kind === 'main' && !isProbe(call) && !isSeeded(call) ? { do: 'overflow' } : undefined,
  );
  world.telegram.say(CHAT, 'First');
  const first = await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'Second');
  const second = await nextOutcome(world, CHAT, 2);
  expect(second).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(second.session).not.toBe(old);
  expect(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session')).toBe(second.session);
  expect(first.session).toBe(second.session);
});

test('a restart does not restart the recovery: its stage survives the process [openclaw#70744]', async () => {
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(100, 1_000)));
  world.claude.react((call) => (call.kind === 'main' && !isProbe(call) ? { do: 'overflow' } : undefined));
  let restarts = 0;
  const stopped: Promise<void>[] = [];
  world.telegram.say(CHAT, 'Impossible');
  while (restarts < 3) {
    // A refusal is asked once more after two seconds, by a gateway that starts on a busy machine.
    await world.claude.waitForCall((call) => call.kind === 'main' && call.index >= restarts);
    const running = gateway;
    gateway = await startGateway(world);
    stopped.push(running.stop());
    restarts += 1;
  }
  await Promise.all(stopped);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  expect(mainCalls().filter((call) => !isProbe(call)).length).toBeLessThanOrEqual(6 + restarts);
});

test('the text of an overflow error, typed by a user, causes no recovery [openclaw#7854]', async () => {
  world.telegram.say(CHAT, 'prompt is too long: 213462 tokens > 200000 maximum');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0 });
});

test('after the window shrinks between two messages, the next two are answered', async () => {
  for (const n of [1, 2, 3]) {
    world.telegram.say(CHAT, `${n} ${'lorem ipsum '.repeat(250)}`);
    await nextOutcome(world, CHAT, n);
  }
  world.claude.windowTokens = 3_000;
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 4)).toMatchObject({ outcome: 'answered' });
  world.telegram.say(CHAT, 'And after that?');
  expect(await nextOutcome(world, CHAT, 5)).toMatchObject({ outcome: 'answered' });
  expect(world.claude.violations()).toEqual([]);
});
