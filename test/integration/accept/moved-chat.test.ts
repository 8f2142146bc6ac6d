import { beforeEach, expect, test } from '@jest/globals';
import { eachInWorld, killAt, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { sessionOf } from '../../fixture/whole-chat.ts';

const OLD = -2001;
const NEW = -1_002_001;

const UPGRADED = {
  status: 400,
  description: 'Bad Request: group chat was upgraded to a supergroup chat',
  parameters: { migrate_to_chat_id: NEW },
};

eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: `1,${OLD},${NEW}` } });

beforeEach(() => {
  world.telegram.openChat(NEW);
  world.telegram.fail('sendMessage', UPGRADED, 1_000, ({ chat_id }) => String(chat_id) === String(OLD));
});

const asksOld = (text: string) => world.telegram.say(OLD, text, { chatType: 'group' });
const asksNew = (text: string) => world.telegram.say(NEW, text, { chatType: 'supergroup' });

function slowly(): void {
  world.claude.react((call) =>
    call.kind === 'main' ? { do: 'answer', text: `re ${call.pendingText}`, afterMs: 150 } : undefined,
  );
}

test('messages under the old id of a group come first, and no two turns run at once in its session', async () => {
  slowly();
  for (const text of ['a', 'b', 'c']) asksOld(text);
  await start();
  await world.telegram.waitForText(NEW, /re a/);
  for (const text of ['x', 'y']) asksNew(text);
  await untilSettled(world, 5);
  const calls = mainCalls();
  expect(calls.map(({ pendingText }) => pendingText.split('\n').at(-1))).toEqual(['a', 'b', 'c', 'x', 'y']);
  const isAtOnce = calls.some(({ at }, nth) => nth > 0 && at < (calls[nth - 1]?.endedAt ?? Number.POSITIVE_INFINITY));
  expect(isAtOnce).toBe(false);
  expect(shown(NEW)).toEqual(['a', 'b', 'c', 'x', 'y'].map((text) => expect.stringContaining(`re ${text}`)));
  expect(await world.peek.llen(world.keys.log(await sessionOf(NEW)))).toBe(10);
});

test('/new under the old id starts a new session for the new id', async () => {
  slowly();
  for (const text of ['a', 'b']) asksOld(text);
  await start();
  await world.telegram.waitForText(NEW, /re a/);
  const before = await sessionOf(NEW);
  asksOld('/new');
  asksOld('d');
  asksNew('x');
  await world.telegram.waitForText(NEW, /re x/);
  const session = await sessionOf(NEW);
  expect(session).not.toBe(before);
  expect(await world.peek.hget(world.keys.session(session), 'closedBy')).toBeNull();
  const outcomes = (await untilSettled(world, 5)).filter(({ outcome }) => outcome === 'answered');
  expect(outcomes.slice(-2).map((each) => each.session)).toEqual([session, session]);
});

test('a turn that started under the new id before the move was known ends before the old lane goes on', async () => {
  world.claude.react((call) =>
    call.kind === 'main'
      ? { do: 'answer', text: `re ${call.pendingText}`, afterMs: call.pendingText === 'x' ? 1_500 : 50 }
      : undefined,
  );
  await start();
  asksNew('x');
  await world.claude.waitForCall((call) => call.pendingText === 'x');
  asksOld('a');
  await nextOutcome(world, OLD);
  asksOld('b');
  asksNew('y');
  await untilSettled(world, 4);
  const order = (await settledOutcomes(world)).map(({ chat }) => Number(chat));
  expect(order).toEqual([OLD, NEW, OLD, NEW]);
  const calls = mainCalls();
  expect(calls.map(({ pendingText }) => pendingText)).toEqual(['x', 'a', 'b', 'y']);
  expect((calls[2]?.at ?? 0) >= (calls[0]?.endedAt ?? Number.POSITIVE_INFINITY)).toBe(true);
});

test('killed while the old lane is handed on to the new one: all messages of both are answered', async () => {
  for (const text of ['a', 'b']) asksOld(text);
  await killAt('settled:2', async () => {
    await world.telegram.waitForText(NEW, /You said: a/);
    asksNew('x');
  });
  await untilSettled(world, 3);
  expect((await settledOutcomes(world)).map(({ chat, outcome }) => [Number(chat), outcome])).toEqual([
    [OLD, 'answered'],
    [OLD, 'answered'],
    [NEW, 'answered'],
  ]);
});
