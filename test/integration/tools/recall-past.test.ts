import { expect, test } from '@jest/globals';
import type { SessionId } from '../../../shared/redis/keys.ts';
import type { Blobs } from '../../../worker/blob/blobs.ts';
import { createChatMemory } from '../../../worker/features/recall/chat-memory.ts';
import { filler, givenLog } from '../../fixture/archived-session.ts';
import { ask, CURRENT, GRANDPARENT, givenChat, idle, PARENT, says } from '../../fixture/chat-history.ts';
import { eachWithHistory, history, keys, redis } from '../../fixture/each-history.ts';

eachWithHistory();

test('each search sees all that was said before the window of its session, archived or not', async () => {
  await givenChat(history);
  const toolbox = history.recall();
  expect(await history.search('ORD-20117', toolbox)).toContain('ORD-20117');
  await redis.rpush(keys.log(CURRENT), ...idle(40), says('the keel is oak'), says('the mast is ash'), filler('f-2'));
  await redis.hset(keys.session(CURRENT), 'windowStart', 52);
  expect(await history.archiveAll(CURRENT)).toBe(52);
  expect(await history.search('keel', toolbox)).toContain('the keel is oak');
  const child = 's-3' as SessionId;
  await givenLog(redis, keys, child, {
    lines: [says('the rudder is gone'), ...idle(2)],
    about: { parent: CURRENT, windowStart: 1 },
  });
  const told = { rudder: 'the rudder is gone', mast: 'the mast is ash', vermilion: 'The sail is vermilion' };
  for (const [query, expected] of Object.entries(told))
    expect((await ask(toolbox, { query }, child)).text).toContain(expected);
  expect((await ask(toolbox, { query: 'nothing' }, child)).text).toContain('Searched: 660 messages');
});

test('nothing of what was searched is kept: what was erased is not found any more', async () => {
  await givenChat(history);
  const toolbox = history.recall();
  expect(await history.search('anchor', toolbox)).toContain('the anchor is rusty');
  for (const session of [CURRENT, PARENT, GRANDPARENT])
    await redis.del(keys.session(session), keys.log(session), keys.archive(session));
  expect(await history.search('anchor', toolbox)).toBe('Nothing in this chat is older than what you can see.');
});

test('only the newest part of a long chat is searched, and the answer says so; later messages are found', async () => {
  const lines = Array.from({ length: 3_000 }, (_, n) => says(`number ${n} ${'of many words '.repeat(30)}`));
  await givenLog(redis, keys, PARENT, { lines: [...lines, filler()], about: { closedBy: CURRENT } });
  await history.archiveAll(PARENT);
  await givenLog(redis, keys, CURRENT, { lines: [says('first of all')], about: { parent: PARENT, windowStart: 1 } });
  const toolbox = history.recall({ bytesMax: 1024 * 1024 });
  const text = await history.search('number 2999', toolbox);
  expect(text).toMatch(/^1\. .*number 2999 /m);
  expect(text).toContain('Older ones were left out');
  expect(await history.search('number 17', toolbox)).not.toMatch(/number 17 /);
  for (const n of [0, 1, 2, 3]) {
    await redis.rpush(keys.log(CURRENT), says(`token${n} ${'x '.repeat(200_000)}`));
    await redis.hset(keys.session(CURRENT), 'windowStart', 2 + n);
    expect(await history.search(`token${n}`, toolbox)).toMatch(new RegExp(`token${n} `));
  }
  expect(await history.search('number 2999', toolbox)).not.toMatch(/number 2999 /);
});

test('a store that is slow costs what it holds, and not the search', async () => {
  await givenChat(history);
  const blobs = { get: () => new Promise(() => {}) } as Partial<Blobs> as Blobs;
  const toolbox = history.recall({ blobs, readMsMax: 300 });
  expect(await history.search('vermilion', toolbox)).toMatch(/Older ones were left out.*The sail is vermilion/s);
  for (const session of [CURRENT, PARENT]) await redis.del(keys.log(session));
  expect(await history.search('ORD-20117', toolbox)).toMatch(/^Nothing was found\. Searched: \d+ messages?\. Older/);
});

test('a search whose call was cut short reads nothing more', async () => {
  await givenChat(history);
  const cut = new AbortController();
  const get = () => {
    cut.abort();
    return new Promise<never>(() => {});
  };
  const memory = createChatMemory({ redis, keys, blobs: { get } as Partial<Blobs> as Blobs });
  expect(await memory.search(CURRENT, 'anchor', cut.signal)).toMatchObject({
    isCut: true,
    quotes: [expect.anything()],
  });
  expect(await memory.search(CURRENT, 'anchor', cut.signal)).toMatchObject({ isCut: true, size: 0 });
});

test('eight parents are searched, and no more', async () => {
  const chain = Array.from({ length: 11 }, (_, n) => `s-up-${n}` as SessionId);
  for (const [n, session] of chain.entries()) {
    const parent = chain[n + 1];
    await givenLog(redis, keys, session, {
      lines: [says(`boat${n}`)],
      about: { windowStart: 1, ...(parent && { parent }) },
    });
  }
  const toolbox = history.recall();
  expect((await ask(toolbox, { query: 'boat8' }, chain[0])).text).toMatch(/: boat8$/m);
  expect((await ask(toolbox, { query: 'boat9' }, chain[0])).text).not.toMatch(/: boat9$/m);
});
