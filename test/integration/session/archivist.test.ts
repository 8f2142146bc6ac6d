import { afterEach, expect, test } from '@jest/globals';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { createLogger } from '../../../shared/base/log.ts';
import { keysOf, type SessionId } from '../../../shared/redis/keys.ts';
import { createArchive, startArchivist } from '../../../worker/session/archive.ts';
import type { ShardEnv } from '../../../worker/shard-env.ts';
import { filler, givenLog, linesOf, said } from '../../fixture/archived-session.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { processEnv } from '../../fixture/process-env.ts';
import { until } from '../../fixture/root.ts';
import { ask, givenLines, sessionOf } from '../../fixture/whole-chat.ts';

const DAY_SECONDS = 24 * 3600;
/** Visits at once. */
const OFTEN = { archiveEveryMs: 20 };

const services: Service[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop()));
});
eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

const keys = keysOf(0);
const source = () => ({ redis: world.peek, keys, blobs: world.blobs });

function givenArchivist(): void {
  const log = createLogger('silent');
  services.push(
    startArchivist({
      ...processEnv(world.redis.url, { env: { SESSION_RETENTION_DAYS: '30' }, limits: { archiveEveryMs: 10 }, log }),
      ...source(),
    } as ShardEnv),
  );
}

/** Waits until a session is in the set no more. */
const visited = (session: SessionId) =>
  until('visit', async () => (await world.peek.sismember(keys.archivable, session)) === 0 || undefined);

const about = (session: SessionId) => world.peek.hgetall(keys.session(session));
const lines = (count: number) => [...Array.from({ length: count }, (_, n) => said(n)), filler()];
const givenHistory = (turns: number) => givenLines(conversation(turns, 1_000));

test('archives a session of the set and removes it from the set; the archive expires after the retention', async () => {
  const session = 's-1' as SessionId;
  await givenLog(world.peek, keys, session, { lines: lines(1_200), about: { windowStart: 1_100 } });
  // Each segment renews the time of the archive.
  const archive = createArchive(source(), 1_000);
  const first = await archive.nextSegment(session, 1_100);
  expect(first && (await archive.append(first))).toBe(true);
  expect(await world.peek.ttl(keys.archive(session))).toBeGreaterThan(900);
  await world.peek.expire(keys.archive(session), 10);
  await world.peek.sadd(keys.archivable, session);
  givenArchivist();
  await visited(session);
  expect(await about(session)).toMatchObject({ archived: '1100', windowStart: '1100' });
  expect((await linesOf(source(), session)).map(String)).toEqual(lines(1_200));
  expect(await world.peek.ttl(keys.archive(session))).toBeGreaterThan(29 * DAY_SECONDS);
  expect(await world.peek.ttl(keys.archive(session))).toBeLessThanOrEqual(30 * DAY_SECONDS);
  expect([await world.peek.ttl(keys.log(session)), await world.peek.ttl(keys.session(session))]).toEqual([-1, -1]);
});

test('a closed session keeps its window in the log, and all its keys expire after the retention', async () => {
  const [large, small] = ['s-1', 's-2'] as SessionId[] as [SessionId, SessionId];
  await givenLog(world.peek, keys, large, { lines: lines(700), about: { windowStart: 10, closedBy: 's-3' } });
  await givenLog(world.peek, keys, small, { lines: [said(1)], about: { closedBy: 's-3' } });
  await world.peek.sadd(keys.archivable, large, small, 's-gone');
  givenArchivist();
  for (const session of [large, small, 's-gone' as SessionId]) await visited(session);
  expect(await about(large)).toMatchObject({ archived: '10' });
  expect(await world.peek.lrange(keys.log(small), 0, -1)).toEqual([said(1)]);
  for (const key of [keys.archive(large), ...[large, small].flatMap((each) => [keys.log(each), keys.session(each)])])
    expect([key, Math.ceil((await world.peek.ttl(key)) / DAY_SECONDS)]).toEqual([key, 30]);
  expect(await world.peek.exists(keys.session('s-gone' as SessionId))).toBe(0);
});

test.each([
  ['another compaction', { windowStart: 5 }],
  ['the close of the session', { closedBy: 's-2' }],
])('release keeps a session in the set when %s came after the plan', async (_what, change) => {
  const session = 's-1' as SessionId;
  await givenLog(world.peek, keys, session, { lines: lines(10), about: { windowStart: 3 } });
  await world.peek.sadd(keys.archivable, session);
  const archive = createArchive(source(), 1_000);
  const plan = await archive.plan(session);
  await world.peek.hset(keys.session(session), change);
  await world.peek.sadd(keys.archivable, session);
  expect(await archive.release(session, plan)).toBe(false);
  expect(await world.peek.sismember(keys.archivable, session)).toBe(1);
  expect(await world.peek.ttl(keys.session(session))).toBe(-1);
  expect(await archive.release(session, await archive.plan(session))).toBe(true);
});

test('a session that cannot be archived stays in the set and delays no other', async () => {
  // Enough of them that the sound one is hardly ever the first of the set.
  const broken = Array.from({ length: 40 }, (_, n) => `s-broken-${n}` as SessionId);
  const sound = 's-1' as SessionId;
  for (const session of broken) await world.peek.set(keys.log(session), 'no list');
  await givenLog(world.peek, keys, sound, { lines: lines(10), about: { windowStart: 10 } });
  await world.peek.sadd(keys.archivable, ...broken, sound);
  givenArchivist();
  await visited(sound);
  expect(await world.peek.scard(keys.archivable)).toBe(broken.length);
});

test('after a compaction the gateway archives, the chat goes on in its session, and an export is complete', async () => {
  const session = await givenHistory(1_000);
  await start({}, OFTEN);
  expect(await ask('What did we decide?')).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  await visited(session);
  expect(Number((await about(session)).archived)).toBeGreaterThan(1_000);
  expect(await ask('And then?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0, session });
  expect(JSON.stringify(world.claude.calls.at(-1)?.body)).toContain('Summary of the earlier conversation');
  expect(world.claude.violations()).toEqual([]);
  const shown = await runCli(['session', 'show', String(CHAT), '--json'], world.env);
  const records = (await linesOf(source(), session)).length;
  expect(JSON.parse(shown.stdout)).toMatchObject({ session, records });
  const exported = await runCli(['session', 'export', String(CHAT)], world.env);
  const contents = exported.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).content);
  expect(contents.slice(0, 2_001)).toEqual([
    ...conversation(1_000, 1_000).map((line) => JSON.parse(line).content),
    'What did we decide?',
  ]);
});

test.each([
  ['that outgrew its window', 'Go on, please'],
  ['that the user closed with /new', '/new'],
  ['that an import replaces', undefined],
])('a session %s keeps its window until it expires, and its successor names it as parent', async (_which, text) => {
  const old = await givenHistory(1_000);
  await start({}, OFTEN);
  world.claude.react((call) => (call.kind === 'compaction' ? { do: 'overflow' } : undefined));
  if (text === undefined) await givenHistory(1);
  else world.telegram.say(CHAT, text);
  if (text !== undefined) await nextOutcome(world, CHAT);
  await visited(old);
  const current = await sessionOf();
  expect(await about(current)).toMatchObject({ parent: old });
  expect(await about(old)).toMatchObject({ closedBy: current });
  expect((await about(old)).archived).toBeUndefined();
  expect(await world.peek.ttl(keys.log(old))).toBeGreaterThan(80 * DAY_SECONDS);
});
