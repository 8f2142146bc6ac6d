import { expect, test } from '@jest/globals';
import { act, eachClosesConsoles, givenLetters, keptLetters, operator, trail } from '../../fixture/each-console.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';

eachClosesConsoles();
eachInWorld();

test('a letter is removed after a question that names its message; one that is gone says so', async () => {
  await givenLetters(['5-0', '6-0']);
  const visitor = await operator();
  expect((await visitor.get('/console/dead')).text).toContain('href="/console/act/purge?target=5-0">Remove</a>');
  const question = await visitor.get('/console/act/purge?target=5-0');
  expect(question.text).toMatch(
    /message <a [^>]*>15-0<\/a> of chat <a [^>]*>1001<\/a> \(refused\) will never be answered/,
  );
  expect(await keptLetters()).toEqual(['5-0', '6-0']);
  expect(await act(visitor, 'purge', { target: '5-0' })).toBe('It is removed for good.');
  expect(await act(visitor, 'purge', { target: '5-0' })).toBe('It was put back or removed in the meantime.');
  expect(await keptLetters()).toEqual(['6-0']);
});

test('a letter that two shards have is not touched until it is named with its shard', async () => {
  world.env.SHARDS = '2';
  for (const shard of [0, 1]) await givenLetters(['5-0'], { shard });
  const visitor = await operator();
  for (const verb of ['replay', 'purge'])
    expect(await act(visitor, verb, { target: '5-0' })).toMatch(/^It may be one of several/);
  expect(await trail()).toEqual([]);
  expect(await act(visitor, 'replay', { target: '1/5-0' })).toMatch(/^It is back/);
  expect([await keptLetters(0), await keptLetters(1)]).toEqual([['5-0'], []]);
});

test('all letters are put back after a question, but for what an operator did, and a second click does no more', async () => {
  await givenLetters(Array.from({ length: 120 }, (_, at) => `${at + 1}-0`));
  await givenLetters(['500-0'], { chat: '9001!!' });
  const visitor = await operator();
  const { text } = await visitor.get('/console/dead');
  const [, path = '', target = ''] = /href="([^"]*\?target=([^"]*))">Put back all 120</.exec(text) ?? [];
  expect((await visitor.get(path)).text).toMatch(/<h1>Put back 120 dead letters\?<\/h1>/);
  expect(await keptLetters()).toHaveLength(121);
  const fields = { target, why: 'it is <over>', name: 'Ann' };
  const [said] = await Promise.all([act(visitor, 'replay', fields), act(visitor, 'replay', fields)]);
  expect(said).toBe('It is done: what is still kept of them names no chat, or has failed again.');
  expect(await keptLetters()).toEqual(['500-0']);
  const entries = (await world.peek.xrange(world.keys.inbound, '-', '+')).map(([, fields]) => fields[1] ?? '');
  expect(entries.toSorted()).toEqual(Array.from({ length: 120 }, (_, at) => `1${at + 1}-0`).toSorted());
  for (const [deed, , by, why] of await trail())
    expect([deed, by, why]).toEqual(['replay', 'console (Ann)', 'it is <over>']);
  // Since the question was made.
  await givenLetters([`${Date.now() + 60_000}-0`]);
  await act(visitor, 'replay', fields);
  expect(await keptLetters()).toHaveLength(2);
});

test('the newest letters are shown, of all chats or of the one that a link names', async () => {
  await givenLetters(Array.from({ length: 60 }, (_, at) => `${at + 1}-0`));
  await givenLetters(['61-0'], { chat: '1002' });
  const visitor = await operator();
  const shown = (text: string) => [...text.matchAll(/name="target" value="(\d+-0)"/g)].map(([, id]) => id);
  const all = (await visitor.get('/console/dead')).text;
  expect([shown(all).at(0), shown(all).at(-1)]).toEqual(['61-0', '12-0']);
  expect(all).toContain('and 11 more letters');
  const ofOne = (await visitor.get('/console/dead?chat=1002')).text;
  expect(shown(ofOne)).toEqual(['61-0']);
  expect(ofOne).not.toContain('Put back all');
});
