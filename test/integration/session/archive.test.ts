import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { connectRedis } from '../../../shared/redis/connection.ts';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { RANGE_BYTES_MAX, RANGE_RECORDS_MAX } from '../../../shared/state/session/log.ts';
import type { Blobs } from '../../../worker/blob/blobs.ts';
import { createFileBlobs } from '../../../worker/blob/folder-store.ts';
import { buildSeed } from '../../../worker/recovery/seed.ts';
import {
  APPEND_SECONDS_MAX,
  type Archive,
  archiveSession,
  createArchive,
  type SessionSource,
} from '../../../worker/session/archive.ts';
import { decodeRecord, encodeRecord, type LogRecord } from '../../../worker/session/record.ts';
import { append, createSessions, SEED_READ_BYTES_MAX } from '../../../worker/session/store.ts';
import { readSession } from '../../../worker/session/transfer.ts';
import {
  collected,
  filler,
  givenAttempt,
  givenLog,
  linesOf,
  said,
  segmentsOf,
} from '../../fixture/archived-session.ts';
import { eachWithRedis, keys, redis, server } from '../../fixture/each-redis.ts';
import { records as anyRecords, userSays } from '../../fixture/records.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { rawTexts, SEEDED } from '../../fixture/texts.ts';

const SESSION = 's-1' as SessionId;
const RETENTION_SECONDS = 90 * 24 * 3600;
const ENDLESS = new AbortController().signal;

let archive: Archive;
let folder: string;
let source: SessionSource & { redis: typeof redis; blobs: Blobs };

eachWithRedis();
beforeEach(async () => {
  folder = await temporaryFolder();
  source = { redis, keys, blobs: createFileBlobs(folder) };
  archive = createArchive(source, RETENTION_SECONDS);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const manyLines = (count: number, chars = 20) => Array.from({ length: count }, (_, n) => said(n, 'y'.repeat(chars)));
const textsOf = (lines: readonly Buffer[]) => lines.map(String);

async function archivedRecords(session = SESSION): Promise<number> {
  return Number((await redis.hget(keys.session(session), 'archived')) ?? 0);
}

test('archive plus log equal the original log byte for byte, wherever the window starts', async () => {
  const damaged = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a)));
  const line = fc.oneof(
    { weight: 3, arbitrary: anyRecords.map(encodeRecord) },
    { weight: 3, arbitrary: rawTexts(200).map((text) => encodeRecord(userSays(`世界 👩‍👩‍👧‍👦 ${text}`))) },
    { weight: 1, arbitrary: damaged },
  );
  let run = 0;
  const property = fc.asyncProperty(
    fc.array(line, { maxLength: 12 }),
    fc.nat(12),
    fc.boolean(),
    async (log, at, closed) => {
      const session = `s-${run++}` as SessionId;
      const windowStart = Math.min(at, log.length);
      const whole = [...log, filler()].map((each) => Buffer.from(each));
      await givenLog(redis, keys, session, {
        lines: whole,
        about: { windowStart, ...(closed && { closedBy: 's-x' }) },
      });
      expect(await archiveSession(archive, session, ENDLESS)).toBe(windowStart);
      expect((await linesOf(source, session)).map((each, n) => whole[n]?.equals(each))).toEqual(whole.map(() => true));
      expect(await collected(readSession(source, session))).toEqual(whole.map((each) => decodeRecord(each.toString())));
      await redis.del(keys.log(session), keys.archive(session), keys.session(session));
    },
  );
  await fc.assert(property, { ...SEEDED, numRuns: 50 });
});

test('a segment is moved once, however often it is read and appended, and not when its blob may be gone', async () => {
  const lines = [...manyLines(1_700), filler()];
  await givenLog(redis, keys, SESSION, { lines, about: { windowStart: 1_700 } });
  const { until } = await archive.plan(SESSION);
  const [first, again] = [await archive.nextSegment(SESSION, until), await archive.nextSegment(SESSION, until)];
  if (!first || !again) throw new Error('nothing to move');
  // Read one after the other, they may differ in the second.
  expect(again).toEqual({ ...first, readAtS: again.readAtS });
  // As if this process had stood still, between the put and the append, for longer than an orphan lasts.
  expect(await archive.append({ ...first, readAtS: first.readAtS - APPEND_SECONDS_MAX - 1 })).toBe(false);
  expect([await archive.append(first), await archive.append(first), await archive.append(again)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(await archivedRecords()).toBe(first.records);
  expect(textsOf(await linesOf(source, SESSION))).toEqual(lines);
  // Nor is one of a session that was deleted meanwhile.
  const late = await archive.nextSegment(SESSION, until);
  await redis.del(keys.log(SESSION), keys.session(SESSION), keys.archive(SESSION));
  expect(late && (await archive.append(late))).toBe(false);
  expect(await redis.exists(keys.archive(SESSION), keys.session(SESSION))).toBe(0);
});

test('two archivists at once move 20,000 records in full segments of at most 1 MB, in order and without loss', async () => {
  const sizes = [300_000, 300_000, 600_000, 3_000_000, 10, 2_000_000];
  const large = sizes.map((chars, n) => said(n, 'z'.repeat(chars)));
  const lines = [...large, ...manyLines(20_000), filler()];
  await givenLog(redis, keys, SESSION, { lines, about: { windowStart: 19_806 } });
  const other = connectRedis(server.url, 'patient');
  const archives = [archive, createArchive({ ...source, redis: other }, RETENTION_SECONDS)];
  const moved = await Promise.all(archives.map((each) => archiveSession(each, SESSION, ENDLESS)));
  other.disconnect();
  expect(moved.reduce((sum, records) => sum + records, 0)).toBe(19_806);
  expect(await archivedRecords()).toBe(19_806);
  const segments = await segmentsOf(source, SESSION);
  // A record that is larger has a segment of its own.
  expect(segments.slice(0, 5).map((segment) => segment.length)).toEqual([2, 1, 1, 1, 1]);
  for (const segment of segments.filter(({ length }) => length > 1))
    expect(Buffer.concat(segment).length).toBeLessThanOrEqual(RANGE_BYTES_MAX);
  expect(segments.slice(5, -1).every((segment) => segment.length === RANGE_RECORDS_MAX)).toBe(true);
  expect(textsOf(await linesOf(source, SESSION))).toEqual(lines);
});

test('a raw line break inside a damaged line shifts no other record', async () => {
  const broken = '{"v":1,"t":"user",\n"id":"r","at":"","content":"on two lines"}';
  await givenLog(redis, keys, SESSION, {
    lines: [said(1), broken, 'a\nb', said(2), filler()],
    about: { windowStart: 4 },
  });
  await archiveSession(archive, SESSION, ENDLESS);
  const records = await collected(readSession(source, SESSION));
  expect(records.slice(0, -1)).toEqual([said(1), broken, 'a\nb', said(2)].map(decodeRecord));
});

test('a move after a compaction leaves the window unchanged, and the next compaction finds its records', async () => {
  const compaction = (n: number): LogRecord => {
    return { v: 1, t: 'compaction', id: `c-${n}`, at: '', summary: `sum ${n}`, records: n };
  };
  const lines = [...manyLines(1_000), encodeRecord(compaction(900)), ...manyLines(200), filler()];
  await givenLog(redis, keys, SESSION, { lines, about: { head: 1_000, windowStart: 900 } });
  const turn = await givenAttempt(redis, keys, 1001, SESSION);
  const sessions = createSessions(redis, keys);
  const open = () => sessions.open(turn, userSays('And now?', { id: 'pending' }), 10_000_000);
  const opened = await open();
  const segment = await archive.nextSegment(SESSION, (await archive.plan(SESSION)).until);
  await turn.write('compact', [
    ...append(keys, SESSION, [compaction(1_100)]),
    ['HSET', keys.session(SESSION), 'head', opened.logRecords, 'windowStart', 1_100],
  ]);
  const before = await open();
  expect(before.window).toMatchObject({ head: { id: 'c-1100' }, omitted: 0 });
  expect(segment && (await archive.append(segment))).toBe(true);
  expect(await open()).toEqual(before);
  expect(await archiveSession(archive, SESSION, ENDLESS)).toBe(600);
  expect(await archivedRecords()).toBe(1_100);
  expect(await open()).toEqual(before);
  await turn.write('compact again', [
    ...append(keys, SESSION, [compaction(1_150)]),
    ['HSET', keys.session(SESSION), 'head', before.logRecords, 'windowStart', 1_150],
  ]);
  expect((await open()).window).toMatchObject({
    head: { id: 'c-1150' },
    records: { length: before.window.records.length - 49 },
  });
});

test('a partly loaded window counts its omitted records from the first of the session, archived or not', async () => {
  await givenLog(redis, keys, SESSION, { lines: manyLines(5_000, 400), about: { windowStart: 5_000 } });
  const turn = await givenAttempt(redis, keys, 1001, SESSION);
  const open = () => createSessions(redis, keys).open(turn, userSays('And now?'), 100_000);
  expect(await archiveSession(archive, SESSION, ENDLESS)).toBeGreaterThan(1_000);
  // Up to version 0.4, records of the window of a closed session were archived, too.
  await redis.hset(keys.session(SESSION), 'windowStart', 0);
  const before = await open();
  expect(await open()).toEqual(before);
  expect(before.window.omitted + before.window.records.length).toBe(5_001);
});

test('the head of a window is not archived, and a head index before the log means no head', async () => {
  await givenLog(redis, keys, SESSION, { lines: [...manyLines(50), filler()], about: { head: 0, windowStart: 1 } });
  expect(await archiveSession(archive, SESSION, ENDLESS)).toBe(0);
  await redis.hset(keys.session(SESSION), { head: 20, windowStart: 30 });
  expect(await archiveSession(archive, SESSION, ENDLESS)).toBe(20);
  await redis.hset(keys.session(SESSION), { head: 19 });
  const turn = await givenAttempt(redis, keys, 1001, SESSION);
  const { window, firstIndex } = await createSessions(redis, keys).open(turn, userSays('?'), 10_000_000);
  expect([window.head, window.omitted, firstIndex]).toEqual([undefined, 30, 30]);
});

test('the newest 512 KB stay in the log, and archiving changes no seed, across parents too', async () => {
  const child = 's-2' as SessionId;
  await givenLog(redis, keys, SESSION, {
    lines: manyLines(4_000, 300),
    about: { closedBy: child, entries: 4_000, windowStart: 4_000 },
  });
  const own = { parent: SESSION, windowStart: 700, entries: 800 };
  await givenLog(redis, keys, child, { lines: manyLines(800, 300), about: own });
  const sessions = createSessions(redis, keys);
  const tails = () => Promise.all([SESSION, child].map((session) => sessions.tail(session, SEED_READ_BYTES_MAX)));
  const source = { pending: '', channel: 'Telegram', boundary: 'b', tokensMax: 8_000 };
  const kind = { because: 'outgrown' } as const;
  const seeds = async () =>
    (await tails()).map(({ records, entries }) => buildSeed({ records, total: entries, ...source, ...kind }));
  const before = [await tails(), await seeds()];
  for (const { records } of await tails()) {
    const bytes = records.reduce((sum, record) => sum + Buffer.byteLength(encodeRecord(record)), 0);
    expect([bytes > SEED_READ_BYTES_MAX - 1_000, bytes <= SEED_READ_BYTES_MAX]).toEqual([true, true]);
  }
  expect(await archiveSession(archive, SESSION, ENDLESS)).toBeGreaterThan(2_000);
  expect(await archiveSession(archive, child, ENDLESS)).toBe(0);
  expect([await tails(), await seeds()]).toEqual(before);
  const kept = Buffer.concat(await redis.lrangeBuffer(keys.log(SESSION), 0, -1)).length;
  expect(kept).toBeGreaterThan(SEED_READ_BYTES_MAX - 1_000);
  expect(kept).toBeLessThanOrEqual(SEED_READ_BYTES_MAX);
});

test.each<[number, number[]]>([
  ...[0, 1, 499, 500, 501, 1_300, 2_300, 2_999].map((consumed): [number, number[]] => [consumed, []]),
  [1_300, [0, 2]],
])(
  'an export yields each record once when the archivist runs after %i records, and reports the damaged segments: %j',
  async (consumed, damaged) => {
    const lines = [...manyLines(3_000), filler()];
    await givenLog(redis, keys, SESSION, { lines, about: { windowStart: 1_700 } });
    await archiveSession(archive, SESSION, ENDLESS);
    for (const segment of damaged) await redis.lset(keys.archive(SESSION), segment, 'no segment');
    const [read, reported]: [string[], number[]] = [[], []];
    for await (const record of readSession(source, SESSION, (segment) => reported.push(segment))) {
      if (read.length === consumed) {
        await redis.hset(keys.session(SESSION), 'windowStart', 2_800);
        await archiveSession(archive, SESSION, ENDLESS);
      }
      read.push(record.id);
    }
    const whole = lines.filter((_, at) => !damaged.includes(Math.floor(at / RANGE_RECORDS_MAX)));
    expect([read, reported]).toEqual([whole.map((line) => decodeRecord(line).id), damaged]);
  },
);
