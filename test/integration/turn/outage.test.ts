import { expect, test } from '@jest/globals';
import { CHAT, eachWithGateway, shown, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';

const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
/** Six failures at the shortest waits take longer than five attempts once did. */
const FAILURES = 6;

eachWithGateway({ env: { MAX_ATTEMPTS: '2' } }, { WAITING_NOTICE_MS: 1_000 });

test('a single chat waits out an outage, gets one notice, and is answered in order', async () => {
  let isDown = true;
  world.claude.react((call) => (isDown && call.kind === 'main' ? DOWN : undefined));
  world.telegram.say(CHAT, 'First');
  world.telegram.say(CHAT, 'Second');
  await world.telegram.waitForText(CHAT, /your message is saved/i);
  await world.claude.waitForCall(({ index }) => index === 3);
  isDown = false;
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual([
    expect.stringMatching(/message is saved/),
    expect.stringContaining('First'),
    expect.stringContaining('Second'),
  ]);
  // The outage is told, and no message of it.
  const alerts = world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
  expect(alerts.filter((text) => !/^(?:Resolved: t|T)he model endpoint/.test(text))).toEqual([]);
});

test('12 chats that wait for the same outage get one notice each, and all are answered', async () => {
  const chats = Array.from({ length: 12 }, (_, at) => CHAT + at);
  let isDown = true;
  world.claude.react((call) => (isDown && call.kind === 'main' ? DOWN : undefined));
  for (const chat of chats) world.telegram.say(chat, 'Hello');
  for (const chat of chats) await world.telegram.waitForText(chat, /message is saved/);
  isDown = false;
  const settled = await untilSettled(world, chats.length);
  expect(settled.map(({ outcome }) => outcome)).toEqual(chats.map(() => 'answered'));
  for (const chat of chats)
    expect(shown(chat)).toEqual([expect.stringMatching(/message is saved/), expect.stringContaining('Hello')]);
});

test('a 400 that sounds like a rate limit fails after a bounded number of calls', async () => {
  const error = { do: 'error', status: 400, type: 'invalid_request_error', message: 'please slow down' } as const;
  world.claude.react(({ kind, pendingText }) => (kind === 'main' && pendingText === 'Fast' ? error : undefined));
  world.telegram.say(CHAT, 'Fast');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  expect(world.claude.calls.length).toBeLessThanOrEqual(FAILURES + 8);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
});
