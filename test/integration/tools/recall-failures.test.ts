import { readdirSync, readlinkSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CacheSpace } from '../../../shared/base/cache-space.ts';
import { createMemoryIndex, type MemoryIndex } from '../../../worker/tools/recall/search-index.ts';
import { givenLog } from '../../fixture/archived-session.ts';
import { type ChatHistory, CURRENT, createChatHistory, says } from '../../fixture/chat-history.ts';
import { userSays } from '../../fixture/records.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';

const MB = 1024 * 1024;
let history: ChatHistory;
let folder: string;

beforeEach(async () => {
  history = await createChatHistory();
  folder = await temporaryFolder();
});

afterEach(async () => {
  await history.close();
  await rm(folder, { recursive: true, force: true });
});

/** A past of so many MB, with a number in each message. */
async function givenPast(megabytes: number): Promise<void> {
  const text = 'of many words that are all different '.repeat(100);
  const lines = Array.from({ length: megabytes * 280 }, (_, n) => says(`number ${n} ${text.replaceAll('d', `d${n}`)}`));
  const { redis, keys } = history;
  await givenLog(redis, keys, CURRENT, { lines, about: { windowStart: lines.length } });
}

/** The files of SQLite that this process has open: where they are, as Linux tells it. */
function indexFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`);
      return file.includes('etilqs_') ? [file] : [];
    } catch {
      return [];
    }
  });
}

/** A page too many is to SQLite what a full disk is. */
function fillTheDisk(): void {
  const db = new DatabaseSync('');
  db.exec('PRAGMA max_page_count = 2; CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(20000))');
}

test('the file of an index has no name, so a kill leaves nothing, and an erased chat takes it along', async () => {
  await givenPast(6);
  const space = new CacheSpace();
  const toolbox = history.recall({ space, erasedEveryMs: 10 });
  expect(await history.search('number 17', toolbox)).toMatch(/^1\. .*number 17 /m);
  expect(indexFiles().length).toBeGreaterThan(0);
  expect(indexFiles().filter((file) => !file.endsWith(' (deleted)'))).toEqual([]);
  expect(space.usedBytes).toBeGreaterThan(MB);
  await history.redis.del(history.keys.session(CURRENT), history.keys.log(CURRENT));
  await until('erased index', () => (space.usedBytes === 0 ? true : undefined));
  expect(indexFiles()).toEqual([]);
});

test.each<[string, () => Promise<string>]>([
  ['cannot be written', async () => join(folder, 'nowhere', 'index')],
  [
    'holds something else',
    async () => {
      const file = join(folder, 'index');
      await writeFile(file, 'no database at all '.repeat(1_000));
      return file;
    },
  ],
])('where the file of an index %s, a small index of the newest part is searched', async (_what, place) => {
  await givenPast(6);
  const space = new CacheSpace();
  const toolbox = history.recall({ space, indexFile: await place() });
  const text = await history.search('number 1679', toolbox);
  expect(text).toMatch(/^1\. .*number 1679 /m);
  expect(text).toContain('Older ones were left out');
  expect(space.usedBytes).toBeLessThan(10 * MB);
  expect(await history.search('number 1678', toolbox)).toMatch(/^1\. .*number 1678 /m);
});

test('an index whose disk is full while it is built is given up for a small one', async () => {
  await givenPast(6);
  let added = 0;
  let opened = 0;
  const openIndex = (place: string): MemoryIndex => {
    opened += 1;
    const index = createMemoryIndex(place);
    const add: MemoryIndex['add'] = (records) => {
      added += 1;
      if (added === 5) fillTheDisk();
      return index.add(records);
    };
    return Object.create(index, { add: { value: add } });
  };
  const text = await history.search('number 1679', history.recall({ openIndex }));
  expect(text).toMatch(/^1\. .*number 1679 /m);
  expect(text).toContain('Older ones were left out');
  expect(opened).toBe(2);
});

test('two searches at once of a chat whose index is dropped meanwhile both find, and then it is gone', async () => {
  await givenPast(6);
  const space = new CacheSpace(4 * MB);
  const [began, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const openIndex = (place: string): MemoryIndex => {
    const index = createMemoryIndex(place);
    const add: MemoryIndex['add'] = async (records) => {
      began.resolve();
      await go.promise;
      await index.add(records);
    };
    return Object.create(index, { add: { value: add } });
  };
  const toolbox = history.recall({ space, openIndex });
  const before = indexFiles();
  const searches = ['number 17', 'number 18'].map((query) => history.search(query, toolbox));
  await began.promise;
  space.hold('all of it', 4 * MB, () => {});
  go.resolve();
  expect(await Promise.all(searches)).toEqual([
    expect.stringMatching(/^1\. .*number 17 /m),
    expect.stringMatching(/^1\. .*number 18 /m),
  ]);
  expect(indexFiles()).toEqual(before);
});

test('a closed index can be closed again', async () => {
  const index = createMemoryIndex();
  await index.add([userSays('once')]);
  index.close();
  index.close();
});
