import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { ALERT_CHAT, createWorld, startGateway, type World } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { type GatewayProcess, spawnGateway } from '../../fixture/process.ts';
import { variants } from '../../fixture/variants.ts';

const CHAT = 1001;
const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;

let world: World;
let gateway: Service | undefined;
let spawned: GatewayProcess[] = [];

beforeEach(async () => {
  world = await createWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });
});

afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await Promise.all(spawned.map((each) => each.stop()));
  spawned = [];
  await world.close();
});

async function givenHistory(turns: number) {
  const lines = await parseLines(conversation(turns, 1_000));
  return importSession(world.peek, world.keys, chatKey(CHAT), lines);
}

const callsOf = (kind: 'main' | 'compaction') => world.claude.calls.filter((call) => call.kind === kind);

test('a summary that takes longer than TURN_TIMEOUT_MS, but not than a recovery may, is used', async () => {
  gateway = await startGateway({ ...world, env: { ...world.env, TURN_TIMEOUT_MS: '1000' } });
  await givenHistory(60);
  world.claude.react(({ kind }) =>
    kind === 'compaction' ? { do: 'answer', text: 'They talked.', afterMs: 1_600 } : undefined,
  );
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(callsOf('compaction').every(({ aborted }) => aborted !== true)).toBe(true);
  expect(callsOf('compaction').length).toBeLessThanOrEqual(2);
  expect(JSON.stringify(callsOf('main').at(-1)?.body)).toContain('They talked.');
});

test('a summary that never comes leads to a fresh session after RECOVERY_TIMEOUT_MS, and is requested once', async () => {
  gateway = await startGateway({ ...world, env: { ...world.env, RECOVERY_TIMEOUT_MS: '1500' } });
  await givenHistory(60);
  world.claude.react(({ kind }) => (kind === 'compaction' ? { do: 'hang' } : undefined));
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(callsOf('compaction')).toHaveLength(1);
  expect(callsOf('main').map(({ status }) => status)).toEqual([400, 400, 200]);
  await world.telegram.waitForText(ALERT_CHAT, /Context overflow/);
});

test('killed between two calls of one summary: the finished part is not requested again', async () => {
  world.claude.windowTokens = 20_000;
  world.env.CONTEXT_WINDOW_TOKENS = '20000';
  await givenHistory(200);
  const victim = await spawnGateway(world, { SPILLWAY_FAIL_AT: 'summary part stored:1' });
  spawned.push(victim);
  world.telegram.say(CHAT, 'Do not lose me');
  expect(await victim.ended).toBe('SIGKILL');
  expect(callsOf('compaction')).toHaveLength(1);
  spawned.push(await spawnGateway(world));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const [first, second] = callsOf('compaction').map(({ body }) => JSON.stringify(body));
  expect(callsOf('compaction')).toHaveLength(2);
  expect(first).not.toContain('<previous-summary>');
  expect(second).toContain('<previous-summary>');
});

test('an overloaded summariser is called again, and the chat keeps its session', async () => {
  gateway = await startGateway(world);
  const session = await givenHistory(60);
  let isDown = true;
  world.claude.react((call) => {
    if (call.kind !== 'compaction' || !isDown) return undefined;
    isDown = false;
    return DOWN;
  });
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  const [first, ...rest] = callsOf('compaction').map(({ status }) => status);
  expect(first).toBe(529);
  expect(new Set(rest)).toEqual(new Set([200]));
});

test('a summariser that stays overloaded is replaced by the fallback model, and the chat keeps its session', async () => {
  gateway = await startGateway({ ...world, env: { ...world.env, FALLBACK_MODEL: 'claude-haiku-4-5' } });
  const session = await givenHistory(60);
  world.claude.react(({ kind, body }) =>
    kind === 'compaction' && body.model !== 'claude-haiku-4-5' ? DOWN : undefined,
  );
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1, session });
});

variants([
  ['with', { FALLBACK_MODEL: 'claude-haiku-4-5' }],
  ['without', {}],
])('a COMPACTION_MODEL that is retired costs no chat its session, %s a fallback', async (_, env) => {
  const own = { ...world.env, COMPACTION_MODEL: 'claude-old', ...env };
  world.claude.lives.set('claude-old', { lifecycle: 'retired' });
  gateway = await startGateway({ ...world, env: own });
  const session = await givenHistory(60);
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1, session });
});

test('a long summary that was cut is used, and says that it was cut', async () => {
  gateway = await startGateway(world);
  const session = await givenHistory(60);
  world.claude.react(({ kind }) =>
    kind === 'compaction'
      ? { do: 'answer', text: 'They spoke of many things. '.repeat(60), stopReason: 'max_tokens' }
      : undefined,
  );
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  expect(JSON.stringify(callsOf('main').at(-1)?.body)).toContain('The summary was cut here');
});

test('a summary has 16,000 output tokens and low effort, independent of the settings for answers', async () => {
  await world.close();
  world = await createWorld({ claude: { windowTokens: 100_000, maxOutputTokens: 64_000 } });
  gateway = await startGateway({ ...world, env: { ...world.env, MAX_OUTPUT_TOKENS: '2000', EFFORT: 'high' } });
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(500, 1_000)));
  world.telegram.say(CHAT, 'Still there?');
  await nextOutcome(world, CHAT);
  for (const { body } of callsOf('compaction'))
    expect(body).toMatchObject({ max_tokens: 16_000, output_config: { effort: 'low' } });
  expect(callsOf('main').at(-1)?.body).toMatchObject({ max_tokens: 2_000, output_config: { effort: 'high' } });
  expect(callsOf('compaction').length).toBeGreaterThan(0);
  expect(world.claude.violations()).toEqual([]);
});

test('an overflow without numbers teaches that the window is smaller than the refused request', async () => {
  gateway = await startGateway(world);
  const session = await givenHistory(60);
  const silent = { do: 'error', status: 400, type: 'invalid_request_error', message: 'Prompt is too long' } as const;
  world.claude.windowTokens = 200_000;
  world.claude.react(({ kind, inputTokens }) => (kind === 'main' && inputTokens > 8_000 ? silent : undefined));
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  const [refused, , answered] = callsOf('main').map(({ inputTokens }) => inputTokens);
  expect(answered).toBeLessThan((refused ?? 0) / 2);
  const learnt = Number(await world.peek.hget(world.keys.session(session), 'limitTokens'));
  expect(learnt).toBe(200_000 / 2);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
});
