import { writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { chatKey, type EntryId } from '../../../shared/redis/keys.ts';
import { mutantCopy } from '../../chaos/mutant-copy.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, shown, spawn, takeOver, world } from '../../fixture/each-test.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { type GatewayProcess, spawnRunning } from '../../fixture/process.ts';
import { dueTimes, givenReminder } from '../../fixture/reminders.ts';
import { until } from '../../fixture/root.ts';
import { NEXT_VERSION } from '../../fixture/state/next-version.ts';
import { playScene, SCENE } from '../../fixture/state/scene.ts';
import { dumpState, loadState, type State, stateOf, withFieldsMore } from '../../fixture/state/state.ts';
import { sessionOf } from '../../fixture/whole-chat.ts';

const STRANGER = 4_999;
const SCENE_UPDATES = 20;
const DAY_MS = 24 * 3_600_000;
/** What was under way when a state was written: two turns with one message behind each, and a paused chat. */
const UNDER_WAY = 5;

eachInWorld();

/** Lets this version go on with a state, and expects that all in it is answered or readable. */
async function expectGoesOn(state: State): Promise<void> {
  for (const chat of Object.values(SCENE)) world.telegram.openChat(chat);
  await loadState(world.peek, state);
  for (const member of await world.peek.zrange(world.keys.reminders, '0', '-1'))
    await world.peek.zadd(world.keys.reminders, String(Date.now() + DAY_MS), member);
  const before = (await settledOutcomes(world)).length;
  await takeOver();
  await untilSettled(world, before + UNDER_WAY - 1);
  await runCli(['resume', String(SCENE.paused)], world.env);
  const outcomes = (await untilSettled(world, before + UNDER_WAY)).slice(before);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array(UNDER_WAY).fill('answered'));
  expect(shown(SCENE.running)).toEqual(['You said: hang', 'You said: the next']);
  expect(shown(SCENE.paused).at(-1)).toContain('wait for the end of the pause');
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  for (const args of [
    ['status'],
    ['audit'],
    ['dead', 'list'],
    ['chat', String(SCENE.talked)],
    ['session', 'show', String(SCENE.talked)],
    ['incidents'],
  ])
    expect(await runCli(args, world.env)).toMatchObject({ stdout: expect.stringMatching(/\w/), stderr: '' });
  const report = await runCli(['chat', String(SCENE.talked)], world.env);
  expect(report.code).toBe(0);
  const retried = await runCli(['dead', 'replay', '--all'], world.env);
  expect(retried.stdout).toContain('is replayed after the other messages of its chat');
  await untilSettled(world, before + UNDER_WAY + 1);
  // The ids of its first updates are those of the scene's, which are known.
  for (let nth = 0; nth < SCENE_UPDATES; nth++) world.telegram.say(STRANGER, 'hello?');
  world.telegram.say(SCENE.talked, 'do you remember?');
  await untilSettled(world, before + UNDER_WAY + 2);
  expect(JSON.stringify(world.claude.calls.at(-1)?.body)).toContain('and again');
  // This stand-in did not sign what another one thought.
  expect(world.claude.violations().filter(({ violation }) => !violation?.message.includes('thinking'))).toEqual([]);
  expect(await world.peek.hmget(world.keys.counts, 'accepted', 'settled')).toEqual(
    Array(2).fill(String(before + UNDER_WAY + 2)),
  );
}

/** What this version writes, up to a turn that is cut off. */
async function played(): Promise<State> {
  const victim = await spawn();
  await playScene(world);
  victim.kill('SIGKILL');
  await victim.ended;
  return dumpState(world.peek);
}

test('what this version wrote is a state that this version reads; WRITE_STATE=0.4 keeps it for later ones', async () => {
  const state = await played();
  const { WRITE_STATE: version } = process.env;
  if (version !== undefined)
    writeFileSync(
      new URL(`../../fixture/state/${version}.json`, import.meta.url),
      `${JSON.stringify(state, undefined, 1)}\n`,
    );
  expect(Object.keys(state).length).toBeGreaterThan(20);
});

test.each(['0.3', '0.4'])('the state of version %s is read: all in it is answered or readable', async (version) => {
  await expectGoesOn(stateOf(version));
});

test('a field more everywhere, as the next version may write it, disturbs nothing and is kept', async () => {
  const state = withFieldsMore(stateOf('0.3'));
  await expectGoesOn(state);
  const chat = await world.peek.hgetall(world.keys.chat(chatKey(SCENE.talked)));
  expect(chat.later).toBeDefined();
  const log = await world.peek.lrange(world.keys.log(chat.session as never), 0, 0);
  expect(log[0]).toContain('"later"');
});

test('a recovery of a stage that this version does not know is left to a later one', async () => {
  const entry = String(
    await world.peek.xadd(world.keys.inbound, '*', 'chat', '1001', 'message', JSON.stringify(inboundText(1))),
  ) as EntryId;
  await world.peek.hset(world.keys.turn(entry), 'stage', 'moonlit');
  await takeOver();
  const tries = async () => JSON.stringify(await world.peek.hgetall(world.keys.turn(entry))).includes('newer_version');
  await until('a try', async () => (await tries()) || undefined);
  expect(await settledOutcomes(world)).toEqual([]);
  expect(await world.peek.hget(world.keys.turn(entry), 'stage')).toBe('moonlit');
  expect(world.claude.calls).toEqual([]);
});

test('a reminder that a later version has set is put off, and kept as it is', async () => {
  const id = await givenReminder({ v: 2, text: undefined, words: ['as', 'a', 'list'] }, -1_000);
  const stored = await world.peek.hget(world.keys.remindersOf(chatKey(CHAT)), id);
  await takeOver();
  await until(
    'a reminder that is put off',
    async () => (await dueTimes()).every((due) => due > Date.now()) || undefined,
  );
  expect(await world.peek.hget(world.keys.remindersOf(chatKey(CHAT)), id)).toBe(stored);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  expect(await settledOutcomes(world)).toEqual([]);
});

test('beside the next version, in both directions: turns in flight are taken over, each message is answered once, in order', async () => {
  const next = await mutantCopy(NEXT_VERSION);
  const chats = Array.from({ length: 6 }, (_, at) => CHAT + at);
  const program = 'test/fixture/gateway-process.ts';
  const env = { ...world.env, LOG_LEVEL: 'info' };
  const started: GatewayProcess[] = [];
  const start = async (root?: string): Promise<GatewayProcess> => {
    const gateway = await spawnRunning(program, env, root === undefined ? {} : { root });
    started.push(gateway);
    return gateway;
  };
  let isSlow = true;
  world.claude.react(({ kind, pendingText }) =>
    kind === 'main' ? { do: 'answer', text: `re ${pendingText}`, afterMs: isSlow ? 4_000 : 20 } : undefined,
  );
  /** Everybody writes; whoever has the turns is killed in the middle of them, and the other goes on. */
  const takenOver = async (text: string, victim: GatewayProcess, heir: () => Promise<unknown>): Promise<void> => {
    isSlow = true;
    for (const chat of chats) for (const part of ['a', 'b']) world.telegram.say(chat, text + part);
    await until('turns in flight', () => world.claude.inFlight() === chats.length || undefined);
    isSlow = false;
    victim.kill('SIGKILL');
    await victim.ended;
    await heir();
  };
  try {
    const [own] = [await start()];
    await takenOver('first ', own, () => start(next.folder));
    await untilSettled(world, 2 * chats.length);
    await takenOver('second ', started.at(-1) as GatewayProcess, () => start());
    await untilSettled(world, 4 * chats.length);
    const said = ['first a', 'first b', 'second a', 'second b'].map((text) => `re ${text}`);
    for (const chat of chats) expect(shown(chat).filter((text) => text !== '…')).toEqual(said);
    expect((await settledOutcomes(world)).every(({ outcome }) => outcome === 'answered')).toBe(true);
    expect(await world.peek.xlen(world.keys.dead)).toBe(0);
    expect(JSON.stringify(await world.peek.lrange(world.keys.log(await sessionOf()), 0, -1))).toContain('later');
    expect(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'later')).toBe('more');
    expect(world.claude.violations()).toEqual([]);
  } finally {
    await Promise.all(started.map((gateway) => gateway.stop()));
    await next.remove();
  }
});
