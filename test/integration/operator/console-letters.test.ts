import { expect, test } from '@jest/globals';
import type { Visitor } from '../../fixture/console.ts';
import { act, eachClosesConsoles, givenLetters, keptLetters, operator, trail } from '../../fixture/each-console.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';

eachClosesConsoles();
eachInWorld();

/** The text of the page that refuses an act. */
async function refused(visitor: Visitor, verb: string, target: string): Promise<string> {
  const form = await visitor.formKey('/console');
  const { status, text } = await visitor.post(`/console/act/${verb}`, { form, target });
  expect(status).toBe(404);
  return text;
}

test('a letter is removed after a question that names its message; one that is gone says so', async () => {
  await givenLetters(['5-0', '6-0']);
  const visitor = await operator();
  expect((await visitor.get('/console/dead')).text).toContain('href="/console/act/purge?target=5-0">Remove</a>');
  const question = await visitor.get('/console/act/purge?target=5-0');
  expect(question.text).toContain('Message 15-0 of chat 1001 (refused) will never be answered.');
  expect(await keptLetters()).toEqual(['5-0', '6-0']);
  expect(await act(visitor, 'purge', { target: '5-0' })).toBe('Dead letter 5-0 is removed for good.');
  expect(await refused(visitor, 'purge', '5-0')).toMatch(/There is no dead letter 5-0\. It may have been put back/);
  expect(await keptLetters()).toEqual(['6-0']);
});

test('all letters are put back after a question, but for what an operator did, and a second click does no more', async () => {
  await givenLetters(Array.from({ length: 120 }, (_, at) => `${at + 1}-0`));
  await givenLetters(['500-0'], { chat: '9001!!' });
  const visitor = await operator();
  const { text } = await visitor.get('/console/dead');
  const [, path = '', target = ''] = /href="([^"]*\?target=([^"]*))">Put back all 120</.exec(text) ?? [];
  expect((await visitor.get(path)).text).toMatch(/<h1>Replay 120 dead letters\?<\/h1>/);
  expect(await keptLetters()).toHaveLength(121);
  const fields = { target, why: 'it is <over>', name: 'Ann' };
  expect(await act(visitor, 'replay', fields)).toBe('Replayed 120 of 120.');
  expect(await act(visitor, 'replay', fields)).toBe('Nothing to replay.');
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
