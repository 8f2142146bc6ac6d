import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { createWorld, type World } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { type GatewayProcess, spawnGateway } from '../../fixture/process.ts';

const OLD = -2001;
const NEW = -1_002_001;
const GROUPS = { TELEGRAM_ALLOWED_IDS: `1,${OLD},${NEW}` };
const UPGRADED = {
  status: 400,
  description: 'Bad Request: group chat was upgraded to a supergroup chat',
  parameters: { migrate_to_chat_id: NEW },
};

let world: World;
let gateways: GatewayProcess[] = [];

beforeEach(async () => {
  world = await createWorld({ env: GROUPS });
  world.telegram.openChat(NEW);
  world.telegram.fail('sendMessage', UPGRADED, 1_000, ({ chat_id }) => String(chat_id) === String(OLD));
});

afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  gateways = [];
  await world.close();
});

const start = async (env: Record<string, string> = {}) => {
  const gateway = await spawnGateway(world, env);
  gateways.push(gateway);
  return gateway;
};
const asksOld = (text: string) => world.telegram.say(OLD, text, { chatType: 'group' });
const asksNew = (text: string) => world.telegram.say(NEW, text, { chatType: 'supergroup' });
const shown = () => world.telegram.shown(NEW).map(({ text }) => text);
const sessionOf = (chat: number) => world.peek.hget(world.keys.chat(chatKey(chat)), 'session');

/** What was asked in which order; an error where two calls were under way at once. */
function oneAtATime(): string[] {
  const calls = world.claude.calls.filter(({ kind }) => kind === 'main');
  for (const [at, call] of calls.entries())
    if (at > 0 && call.at < (calls[at - 1]?.endedAt ?? Number.POSITIVE_INFINITY))
      throw new Error(`at once: ${call.pendingText}`);
  return calls.map(({ pendingText }) => pendingText.split('\n').at(-1) ?? '');
}

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
  expect(oneAtATime()).toEqual(['a', 'b', 'c', 'x', 'y']);
  expect(shown()).toEqual(['a', 'b', 'c', 'x', 'y'].map((text) => expect.stringContaining(`re ${text}`)));
  expect(await world.peek.llen(world.keys.log((await sessionOf(NEW)) as SessionId))).toBe(10);
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
  const session = (await sessionOf(NEW)) as SessionId;
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
  const calls = world.claude.calls.filter(({ kind }) => kind === 'main');
  expect(calls.map(({ pendingText }) => pendingText)).toEqual(['x', 'a', 'b', 'y']);
  expect((calls[2]?.at ?? 0) >= (calls[0]?.endedAt ?? Number.POSITIVE_INFINITY)).toBe(true);
});

test('killed while the old lane is handed on to the new one: all messages of both are answered', async () => {
  for (const text of ['a', 'b']) asksOld(text);
  const victim = await start({ SPILLWAY_FAIL_AT: 'settled:2' });
  await world.telegram.waitForText(NEW, /You said: a/);
  asksNew('x');
  expect(await victim.ended).toBe('SIGKILL');
  await start();
  await untilSettled(world, 3);
  expect((await settledOutcomes(world)).map(({ chat, outcome }) => [Number(chat), outcome])).toEqual([
    [OLD, 'answered'],
    [OLD, 'answered'],
    [NEW, 'answered'],
  ]);
});
