import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SessionId } from '../../../shared/redis/keys.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { WindowCache } from '../../../worker/session/held-window.ts';
import { encodeRecord, type LogRecord } from '../../../worker/session/record.ts';
import { createSessions, type Sessions } from '../../../worker/session/store.ts';
import { givenAttempt } from '../../fixture/archived-session.ts';
import { eachWithRedis, keys, redis } from '../../fixture/each-redis.ts';
import { records as anyRecords, userSays } from '../../fixture/records.ts';
import { SEEDED } from '../../fixture/texts.ts';

const BYTES_MAX = 10_000_000;

let session: SessionId;
let chat = 1_000;

eachWithRedis();

/** A new session, and an attempt at a message of its chat. */
async function given(): Promise<Turn> {
  session = `s-${randomUUID()}` as SessionId;
  chat += 1;
  return givenAttempt(redis, keys, chat, session);
}

/** Holds short windows too. */
const anyWindows = () => new WindowCache({ recordsMin: 0 });
const lineOf = (record: LogRecord) => encodeRecord({ ...record, id: randomUUID() } as LogRecord);
const append = (records: readonly LogRecord[]) => redis.rpush(keys.log(session), ...records.map(lineOf));
const sizeOf = async () => Number((await redis.hget(keys.session(session), 'archived')) ?? 0) + (await logLength());
const logLength = () => redis.llen(keys.log(session));

/** What happens to a session between two loads. */
type Step =
  | { do: 'append'; records: LogRecord[] }
  | { do: 'compact'; share: number }
  | { do: 'archive'; share: number }
  | { do: 'lose'; share: number; instead: LogRecord[] }
  | { do: 'load'; by: 0 | 1; bytesMax: number; isOpening: boolean };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const some = fc.array(anyRecords, { minLength: 1, maxLength: 6 });
const loads: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('load' as const),
  by: fc.constantFrom(0 as const, 1 as const),
  bytesMax: fc.oneof(fc.constant(BYTES_MAX), fc.integer({ min: 0, max: 3_000 })),
  isOpening: fc.boolean(),
});
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: some.map((records) => ({ do: 'append', records }) as const) },
    { weight: 1, arbitrary: share.map((each) => ({ do: 'compact', share: each }) as const) },
    { weight: 1, arbitrary: share.map((each) => ({ do: 'archive', share: each }) as const) },
    {
      weight: 1,
      arbitrary: fc.tuple(share, some).map(([each, instead]) => ({ do: 'lose', share: each, instead }) as const),
    },
    { weight: 6, arbitrary: loads },
  ),
  { minLength: 4, maxLength: 16 },
);

/** As recovery, the archivist, and a failover that loses the newest records change a log. */
async function take(step: Exclude<Step, { do: 'load' }>): Promise<void> {
  const about = keys.session(session);
  const archived = Number((await redis.hget(about, 'archived')) ?? 0);
  const start = Number((await redis.hget(about, 'windowStart')) ?? 0);
  if (step.do === 'append') await append(step.records);
  if (step.do === 'compact') {
    const head = await sizeOf();
    await append([{ v: 1, t: 'compaction', id: '', at: '', summary: 'a summary', records: 0 }]);
    await redis.hset(about, { head, windowStart: start + Math.floor((head - start) * step.share) });
  }
  if (step.do === 'archive') {
    const head = Number((await redis.hget(about, 'head')) ?? start);
    const count = Math.floor((Math.min(start, head) - archived) * step.share);
    await redis.ltrim(keys.log(session), count, -1);
    await redis.hset(about, { archived: archived + count });
  }
  if (step.do === 'lose') {
    const kept = Math.floor((await logLength()) * step.share);
    await redis.ltrim(keys.log(session), 0, kept - 1);
    if (kept === 0) await redis.del(keys.log(session));
    await append(step.instead);
  }
}

const pending = () => userSays('And now?', { id: randomUUID() });

test('a load that goes on from what a worker holds is the load of a worker that holds nothing', async () => {
  let spared = 0;
  const property = fc.asyncProperty(steps, async (all) => {
    const turn = await given();
    const workers: [Sessions, Sessions] = [
      createSessions(redis, keys, anyWindows()),
      createSessions(redis, keys, anyWindows()),
    ];
    for (const step of all) {
      if (step.do !== 'load') {
        await take(step);
        continue;
      }
      const load = ({ open, load: only }: Sessions) =>
        step.isOpening ? open(turn, pending(), step.bytesMax) : only(turn, step.bytesMax);
      const held = await load(workers[step.by]);
      expect(held).toEqual(await load(createSessions(redis, keys)));
      spared += held.window.records.length;
    }
  });
  await fc.assert(property, { ...SEEDED, numRuns: 150 });
  expect(spared).toBeGreaterThan(100);
});

test('two workers that answer a chat in turn read of each load only what the other one wrote', async () => {
  const turn = await given();
  await append(Array.from({ length: 300 }, (_, n) => userSays(`message ${n}`)));
  const workers = [createSessions(redis, keys, anyWindows()), createSessions(redis, keys, anyWindows())];
  const read: number[] = [];
  for (let at = 0; at < 6; at++) {
    const before = await bytesSent();
    const { window } = await (workers[at % 2] as Sessions).load(turn, BYTES_MAX);
    read.push((await bytesSent()) - before);
    expect(window.records).toHaveLength(300 + at);
    await append([userSays(`more ${turn}`)]);
  }
  const [first = 0, second = 0, ...later] = read;
  expect(Math.min(first, second)).toBeGreaterThan(20_000);
  expect(Math.max(...later)).toBeLessThan(5_000);
});

/** The bytes that the server has sent so far. */
async function bytesSent(): Promise<number> {
  return Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))?.[1]);
}

test('what left the window is not shown, and leaves the memory', async () => {
  const turn = await given();
  const windows = anyWindows();
  const sessions = createSessions(redis, keys, windows);
  const startAt = async (windowStart: number) => {
    await redis.hset(keys.session(session), { windowStart });
    const { window, firstIndex } = await sessions.load(turn, BYTES_MAX);
    return [firstIndex, window.records.length, windows.of(session)?.records.length];
  };
  await append([0, 1, 2, 3].map((n) => userSays(`${n}`)));
  expect(await startAt(0)).toEqual([0, 4, 4]);
  expect(await startAt(3)).toEqual([3, 1, 1]);
  await append([4, 5, 6, 7].map((n) => userSays(`${n}`)));
  expect(await startAt(6)).toEqual([6, 2, 2]);
});
