import { expect, test } from '@jest/globals';
import type { Visitor } from '../../fixture/console.ts';
import {
  act,
  eachClosesConsoles,
  givenLetters,
  keptLetters,
  loggedIn,
  operator,
  trail,
} from '../../fixture/each-console.ts';
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

test('what an operator did and failed is not counted among those that a run puts back', async () => {
  await givenLetters(['5-0']);
  await givenLetters(['6-0'], { chat: '9001!!' });
  const run = walkerOf(await operator(), '/console/dead/run?');
  expect((await run.page()).text).toMatch(/<h1>Put back 1 dead letter\?<\/h1>/);
  await run.press();
  const over = (await run.page()).text;
  expect(over).toContain('<h1>Done: went through 1 dead letter</h1>');
  expect(over).not.toMatch(/stay|left/);
  expect(await keptLetters()).toEqual(['6-0']);
});

test('many letters are put back by batches with a filter, with the progress, by whoever goes on', async () => {
  await givenLetters(Array.from({ length: 120 }, (_, at) => `${at + 1}-0`));
  await givenLetters(['500-0'], { chat: '1002' });
  const visitor = await operator();
  const filtered = await visitor.get('/console/dead?chat=1001');
  expect(filtered.text).toMatch(
    /href="\/console\/dead\/run\?chat=1001">Put back all 120[\s\S]*<h1>120 dead letters<\/h1>/,
  );
  const run = walkerOf(visitor, '/console/dead/run?chat=1001');
  expect((await run.page()).text).toMatch(/<h1>Put back 120 dead letters\?<\/h1>[\s\S]*Only chat 1001\./);
  await run.press({ why: 'it is <over>', name: 'Ann' });
  const half = (await run.page()).text;
  expect(half).toContain('<h1>Put back 50 of 120</h1>');
  expect(half).toContain('<progress value="50" max="120">');
  expect(await keptLetters()).toHaveLength(71);
  // Reading it changes nothing, and another browser may go on from the same address.
  await run.page();
  const other = walkerOf(await loggedIn(visitor.url), run.path());
  await other.press();
  await other.press();
  expect((await other.page()).text).toContain('<h1>Done: went through 120 dead letters</h1>');
  expect(await keptLetters()).toEqual(['500-0']);
  expect((await world.peek.xrange(world.keys.inbound, '-', '+')).map(([, fields]) => fields[1])).toEqual(
    Array.from({ length: 120 }, (_, at) => `1${at + 1}-0`),
  );
  expect((await trail()).map(([, target, by, why]) => [target, by, why])).toEqual(
    ['20', '50', '50'].map((count) => [`${count} dead letters`, 'console (Ann)', 'it is <over>']),
  );
});

test('a batch that is clicked twice, or by two browsers at once, is put back once, and says so', async () => {
  await givenLetters(Array.from({ length: 120 }, (_, at) => `${at + 1}-0`));
  const visitor = await operator();
  const run = walkerOf(visitor, '/console/dead/run');
  const fields = await run.fields();
  await Promise.all([0, 1].map(() => visitor.post('/console/dead/run', fields)));
  expect(await keptLetters()).toHaveLength(70);
  const late = await visitor.post('/console/dead/run', fields);
  const { text } = await visitor.get(late.headers.get('location') ?? '');
  expect(text).toContain('That was put back already.');
  expect(text).toContain('<h1>Put back 50 of 120</h1>');
  expect(await keptLetters()).toHaveLength(70);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(50);
});

/** Somebody who presses the button of a run's page, and comes to the page that follows. */
function walkerOf(visitor: Visitor, from: string) {
  let path = from;
  const page = () => visitor.get(path);
  const fields = async () => hiddenIn((await page()).text);
  return {
    ...{ page, fields, path: () => path },
    async press(more: Record<string, string> = {}) {
      const { status, headers } = await visitor.post('/console/dead/run', { ...(await fields()), ...more });
      expect(status).toBe(303);
      path = headers.get('location') ?? '';
    },
  };
}

function hiddenIn(text: string): Record<string, string> {
  const form = /<form class="deed"[\s\S]*?<\/form>/.exec(text)?.[0] ?? '';
  const plain = (value: string) => value.replaceAll('&lt;', '<').replaceAll('&gt;', '>');
  return Object.fromEntries(
    [...form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      plain(value ?? ''),
    ]),
  );
}

test('dead letters are shown by pages that lead to older and newer ones', async () => {
  await givenLetters(Array.from({ length: 120 }, (_, at) => `${at + 1}-0`));
  const visitor = await operator();
  const shown = (text: string) => [...text.matchAll(/name="target" value="(\d+-0)"/g)].map(([, id]) => id);
  const link = (text: string, name: string) =>
    new RegExp(`href="(/console/dead[^"]*)">${name}<`).exec(text)?.[1]?.replaceAll('&amp;', '&');
  const first = (await visitor.get('/console/dead?reason=refused')).text;
  expect([shown(first).at(0), shown(first).at(-1), link(first, 'Newer')]).toEqual(['120-0', '71-0', undefined]);
  expect(first).toContain('and 70 more letters');
  const second = (await visitor.get(link(first, 'Older') ?? '')).text;
  expect([shown(second).at(0), shown(second).at(-1)]).toEqual(['70-0', '21-0']);
  const third = (await visitor.get(link(second, 'Older') ?? '')).text;
  expect([shown(third).at(-1), link(third, 'Older')]).toEqual(['1-0', undefined]);
  const back = (await visitor.get(link(third, 'Newer') ?? '')).text;
  expect(shown(back)).toEqual(shown(second));
});
