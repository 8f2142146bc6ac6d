import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { bindProviderNote, noteBreaker } from '../../../shared/state/provider/provider.ts';
import type { MessageReport } from '../../../worker/report/message.ts';
import type { Status } from '../../../worker/report/status.ts';
import { runCli } from '../../fixture/cli.ts';
import { operator } from '../../fixture/each-console.ts';
import { CHAT, eachInWorld, start, stopGateways, trouble, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { goAwayBeforeAnswer, isAway } from '../../fixture/telegram-away.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachInWorld();

const verb = (...args: string[]) => runCli(args, world.env);
const status = () => verb('status');
const stated = async () => JSON.parse((await verb('status', '--json')).stdout) as Status;
const incidents = (...args: string[]) => verb('incidents', ...args);

/** Whether the lane of the chat has so many messages. */
async function isDeep(messages: number): Promise<true | undefined> {
  return (await world.peek.llen(world.keys.lane(chatKey(CHAT)))) === messages || undefined;
}

test('status is green with an idle gateway and exits 0; without one it is red, says so first, and exits 1', async () => {
  await start({}, { alertEveryMs: 50 });
  await ask('hello');
  await until('poll', async () => (await world.peek.hget(world.keys.poll, 'lastAnswerMs')) ?? undefined);
  await until('worker', async () => (await world.peek.zcard(world.keys.workers)) > 0 || undefined);
  const green = await status();
  expect(green).toMatchObject({ code: 0, stdout: expect.stringMatching(/^GREEN {2}All is well/) });
  expect(green.stdout).toMatch(/Pending +0; of 1 accepted; none waits for an answer/);
  expect(green.stdout).toMatch(/Workers +1; alive; chats in memory: 0 MB of 64 MB\n/);
  expect(green.stdout).toMatch(/Receiving .*; by .*, process \d+\n/);
  await stopGateways();
  await world.peek.zremrangebyrank(world.keys.workers, 0, -1);
  const red = await status();
  expect(red).toMatchObject({ code: 1, stdout: expect.stringMatching(/^RED {2}No worker process is alive\./) });
});

test('status and chat name the turn in flight, its step and since when, and what waits behind it, and no words', async () => {
  world.claude.react(({ pendingText }) =>
    pendingText === 'stuck'
      ? { do: 'answer', text: 'late', afterMs: 60_000 }
      : { do: 'answer', text: 'a private answer' },
  );
  await start();
  await ask('my secret');
  for (const words of ['stuck', 'behind it']) world.telegram.say(CHAT, words);
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'stuck');
  await until('lane of 2', () => isDeep(2));
  const now = await stated();
  expect(now).toMatchObject({
    ledger: { accepted: 3, settled: 1, pending: 2, unaccounted: 0 },
    lanes: { count: 1, waiting: 1, deepest: [{ chat: String(CHAT), messages: 2 }] },
    jobs: { active: 1, waiting: 0, delayed: 0 },
    running: [{ chat: String(CHAT), step: 'asking the model', attempt: 1, sinceMs: expect.any(Number) }],
  });
  expect(now.oldest?.entry).toBe(now.running[0]?.entry);
  const inWords = (await status()).stdout;
  expect(inWords).toMatch(new RegExp(`${now.oldest?.entry} +${CHAT} +asking the model +1 +\\d+ s`));
  const report = JSON.parse((await verb('chat', String(CHAT), '--json')).stdout);
  expect(report).toMatchObject({
    ...{ waiting: 2, head: { place: { at: 'running' } }, outcomes: [{ outcome: 'answered' }] },
    ...{ today: { calls: 1, inputTokens: expect.any(Number) }, deadLetters: 0, reminders: 0 },
  });
  const words = (await verb('chat', String(CHAT))).stdout;
  expect(words).toMatch(/\nFirst: \d+-\d+, accepted \d+ s ago: asking the model[\s\S]*\nWaiting +2;/);
  expect(words).toContain(`npm run cli -- cancel ${CHAT}`);
  expect(inWords + words + JSON.stringify([now, report])).not.toMatch(/secret|private answer|behind it/);
});

test('status and retry without Redis say so, and exit 1', async () => {
  const away = { ...world.env, REDIS_URL: 'redis://127.0.0.1:1' };
  const said = { code: 1, stdout: '', stderr: expect.stringMatching(/Redis/i) };
  const all = await Promise.all([runCli(['status'], away), runCli(['retry', '1-0'], away)]);
  expect(all).toEqual([said, said]);
});

async function reported(id: string): Promise<MessageReport> {
  const { code, stdout, stderr } = await verb('message', id, '--json');
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as MessageReport;
}

test('a message behind another says which, and later that it waited for it; its trace id names it as well', async () => {
  const { promise: after, resolve: answer } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText }) => ({ do: 'answer', text: 'yes', ...(pendingText === 'slow' && { after }) }));
  await start();
  world.telegram.say(CHAT, 'slow');
  await world.claude.waitForCall((call) => call.pendingText === 'slow');
  world.telegram.say(CHAT, 'quick');
  await until('lane of 2', () => isDeep(2));
  const [first = '', second = ''] = (await world.peek.xrange(world.keys.inbound, '-', '+')).map(([id]) => id);
  const [running, waiting] = await Promise.all([reported(first), reported(second)]);
  expect(running.place).toMatchObject({ at: 'running', step: 'asking the model', attempt: 1 });
  expect(waiting.place).toEqual({ at: 'lane', position: 1, behind: first });
  answer();
  await nextOutcome(world, CHAT, 2);
  const ended = await reported(waiting.traceId);
  expect(ended).toMatchObject({
    entry: second,
    outcome: { outcome: 'answered' },
    turn: { parts: { total: 1, sent: 1 } },
  });
  expect(ended.timeline.find(({ kind }) => kind === 'waited')?.text).toContain(first);
  expect((await verb('message', second)).stdout).toMatch(/^Message .*\nEnded \d+ s ago: answered/);
});

test('a failed message is found by its entry and its dead letter, and its incident with cause, count and what to do', async () => {
  expect(await incidents()).toMatchObject({ code: 0, stdout: expect.stringContaining('No incident is open.') });
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  const { entry } = await ask('hello');
  const [[letter = ''] = []] = await world.peek.xrange(world.keys.dead, '-', '+');
  expect(await reported(letter)).toMatchObject({ entry, letter, can: ['retry', 'show letter', 'show chat'] });
  expect((await verb('message', entry)).stdout).toMatch(/failed \(authentication\); kept as dead letter/);
  await until('incident', async () => (await world.peek.hkeys(world.keys.incidents)).find((name) => /^inc/.test(name)));
  const listed = await incidents('--open', '--json');
  expect(listed.code).toBe(1);
  const [first] = JSON.parse(listed.stdout);
  const facts = { title: expect.any(String), sinceMs: expect.any(Number) };
  expect(first).toMatchObject({ isOpen: true, severity: 'page', ...facts });
  const words = await incidents();
  expect(words.stdout).toContain(`\nPage · ${first.name}: ${first.title}\n  OPEN for`);
  expect(words.stdout).toMatch(/Runbook: /);
});

test('incidents and status show what this version does not know, as far as it can be read, and are yellow', async () => {
  const future = { cause: 'toString', isOpen: true, openedMs: Date.now() - 60_000, latest: 'A leap in\u0007 time.' };
  await world.peek.hset(world.keys.incidents, 'incident:toString', JSON.stringify(future));
  await world.peek.hset(world.keys.incidents, 'incident:failed', 'no JSON', 'aside:idle', 'null');
  // Of an earlier version, which is over with it.
  const former = JSON.stringify({ ...future, cause: 'overflow-storm' });
  await world.peek.hset(world.keys.incidents, 'incident:overflow-storm', former);
  const { code, stdout } = await incidents();
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^Needs attention · toString: Not known to this version \(toString\)\n {2}OPEN for 6\d s.*\n {2}Latest: A leap in {2}time\./m,
  );
  expect(stdout).toMatch(
    /^Needs attention · failed: Not known to this version \(not readable\)\n.*\n {2}Latest: no JSON/m,
  );
  expect(stdout).toMatch(/^Needs attention · aside:idle: Not known to this version/m);
  const now = await stated();
  expect(now.incidents).toHaveLength(3);
  expect(now.troubles.map(({ cause }) => cause)).toEqual(['worker', 'other-version']);
});

const breakers = async () => (await stated()).breakers;

test('the status is red and says since when calls of a model are kept back, and when the next one is tried, until one goes through', async () => {
  const headers = { 'retry-after': '0' };
  const mend = trouble({ do: 'error', status: 529, type: 'overloaded_error', message: 'no', headers });
  await start();
  expect((await status()).stdout).toMatch(/^Breakers {5}closed$/m);
  // Another process has had a call that failed, too.
  await bindProviderNote(world.peek, world.keys)('overloaded', '529');
  const before = Date.now();
  for (const chat of Array.from({ length: 4 }, (_, at) => CHAT + at)) world.telegram.say(chat, 'hello');
  const open = await until('open breaker', async () => (await breakers()).models[0]);
  expect(open).toMatchObject({ model: 'claude-opus-5-5' });
  expect(open.sinceMs).toBeGreaterThanOrEqual(before);
  expect(open.untilMs).toBeGreaterThan(open.sinceMs);
  await until('a red status', async () => (await status()).code === 1 || undefined);
  expect((await status()).stdout).toMatch(/^RED {2}The model endpoint .*status 529[\s\S]*Runbook: provider/);
  const visitor = await operator();
  expect((await visitor.get('/console')).text).toMatch(
    /<li class="bad"><b>Breakers<\/b> <span>Trouble: claude-opus-5-5: open since [\d-]+ [\d:]+ UTC, next try /,
  );
  mend();
  await nextOutcome(world, CHAT);
  await until('closed breaker', async () => (await breakers()).models.length === 0 || undefined);
});

test('the status says since when Telegram is away and when it is asked next', async () => {
  await start({ TEST_CALL_TIMEOUT_MS: '700' });
  world.telegram.say(CHAT, 'hello');
  await goAwayBeforeAnswer('refused', [CHAT]);
  await until('away', async () => (await isAway()) || undefined);
  expect((await status()).stdout).toMatch(/^Breakers {5}Telegram: open since .* UTC, next try /m);
});

test('what a killed process noted of a breaker is not believed for ever, and what cannot be read hides no other', async () => {
  const nowMs = Date.now();
  await noteBreaker(world.peek, world.keys, 'killed', { sinceMs: 1, untilMs: nowMs - 300_000 });
  await noteBreaker(world.peek, world.keys, 'due', { sinceMs: 2, untilMs: nowMs - 1_000 });
  const odd = { 'breaker:torn': '{', 'breaker:odd': '{"sinceMs":"x"}', 'breaker:null': 'null' };
  await world.peek.hset(world.keys.provider, odd);
  expect((await breakers()).models).toEqual([{ model: 'due', sinceMs: 2, untilMs: nowMs - 1_000 }]);
  expect((await status()).stdout).toMatch(/^Breakers {5}due: open since .* UTC, next try now$/m);
});
