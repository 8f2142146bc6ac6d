import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { SessionId } from '../../../shared/redis/keys.ts';
import type { Toolbox } from '../../../worker/tools/toolbox.ts';
import { filler, givenLog } from '../../fixture/archived-session.ts';
import {
  ask,
  type ChatHistory,
  CURRENT,
  createChatHistory,
  GRANDPARENT,
  givenChat,
  idle,
  PARENT,
  says,
} from '../../fixture/chat-history.ts';

let history: ChatHistory;
let redis: ChatHistory['redis'];
let keys: ChatHistory['keys'];

beforeEach(async () => {
  history = await createChatHistory();
  ({ redis, keys } = history);
});

afterEach(async () => {
  await history.close();
});

/** How often a command was carried out since the counters were reset. */
async function callsOf(command: string): Promise<number> {
  const stats = await redis.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

test('a second search reads only new records, archived or not, and a fresh session continues the index', async () => {
  await givenChat(history);
  const toolbox = history.recall();
  await history.search('anchor', toolbox);
  await redis.config('RESETSTAT');
  expect(await history.search('ORD-20117', toolbox)).toContain('ORD-20117');
  // One look at the end of each session's log, one at the first record of the window, and no segment.
  expect(await callsOf('evalsha')).toBe(3);
  expect(await callsOf('lindex')).toBe(1);
  await redis.rpush(keys.log(CURRENT), ...idle(40), says('the keel is oak'), says('the mast is ash'), filler('f-2'));
  await redis.hset(keys.session(CURRENT), 'windowStart', 52);
  expect(await history.archiveAll(CURRENT)).toBe(52);
  expect(await history.search('keel', toolbox)).toContain('the keel is oak');
  const child = 's-3' as SessionId;
  await givenLog(redis, keys, child, {
    lines: [says('the rudder is gone'), ...idle(2)],
    about: { parent: CURRENT, windowStart: 1 },
  });
  for (const [query, expected] of [
    ['rudder', 'the rudder is gone'],
    ['mast', 'the mast is ash'],
    ['vermilion', 'The sail is vermilion'],
  ])
    expect((await ask(toolbox, { query }, child)).text).toContain(expected);
  expect((await ask(toolbox, { query: 'nothing' }, child)).text).toContain('Searched: 660 messages');
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

test('the indexes of the four chats searched last are kept in memory, within bytesMax', async () => {
  const chats = [0, 1, 2, 3, 4].map((n) => `s-chat-${n}` as SessionId);
  const [first = CURRENT, ...others] = chats;
  for (const chat of chats)
    await givenLog(redis, keys, chat, { lines: [says(`boat ${'x'.repeat(400_000)}`)], about: { windowStart: 1 } });
  const boat = async (toolbox: Toolbox, chat: SessionId) => (await ask(toolbox, { query: 'boat' }, chat)).text;
  const [roomy, narrow] = [history.recall(), history.recall({ bytesMax: 1_000_000 })];
  for (const toolbox of [roomy, narrow]) expect(await boat(toolbox, first)).toContain('1. ');
  for (const chat of others.slice(0, 3)) await boat(roomy, chat);
  for (const chat of others.slice(0, 2)) await boat(narrow, chat);
  const line = await redis.lpop(keys.log(first));
  expect(await boat(roomy, first)).toContain('1. ');
  expect(await boat(narrow, first)).not.toContain('1. ');
  await redis.rpush(keys.log(first), line ?? '');
  for (const chat of others) await boat(roomy, chat);
  await redis.lpop(keys.log(first));
  expect(await boat(roomy, first)).not.toContain('1. ');
});

test('two first searches at once index the chat once', async () => {
  const lines = Array.from({ length: 30 }, (_, n) => says(`boat${n} ${'x'.repeat(20_000)}`));
  await givenLog(redis, keys, CURRENT, { lines, about: { windowStart: 30 } });
  const toolbox = history.recall({ bytesMax: 1_000_000 });
  const answers = await Promise.all(['boat3', 'boat3'].map((query) => history.search(query, toolbox)));
  for (const text of [...answers, await history.search('boat3', toolbox)]) {
    expect(text).toMatch(/^1\. .*boat3 /m);
    expect(text).not.toContain('left out');
  }
});

test('a fresh session continues the index of its parent, even when the sources are deleted', async () => {
  await givenChat(history);
  const toolbox = history.recall();
  await history.search('anchor', toolbox);
  await redis.del(keys.archive(GRANDPARENT), keys.log(GRANDPARENT));
  const child = 's-3' as SessionId;
  await givenLog(redis, keys, child, { lines: idle(1), about: { parent: CURRENT } });
  expect((await ask(toolbox, { query: 'ORD-20117' }, child)).text).toContain('The order was ORD-20117');
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
