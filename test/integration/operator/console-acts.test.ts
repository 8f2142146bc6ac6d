import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { visitorOf } from '../../fixture/console.ts';
import { act, givenLetters, keptLetters, operator, trail } from '../../fixture/each-console.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { until } from '../../fixture/root.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachInWorld();

/** A chat in which a message is with the model and another one waits. */
async function givenWaiting(): Promise<string[]> {
  world.claude.react(() => ({ do: 'answer', text: 'late', afterMs: 60_000 }));
  await start();
  for (const words of ['one', 'two']) world.telegram.say(CHAT, words);
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  const lane = world.keys.lane(chatKey(CHAT));
  await until('lane of 2', async () => (await world.peek.llen(lane)) === 2 || undefined);
  return world.peek.lrange(lane, 0, -1);
}

test('a message is cancelled after a question, once, and the trail has who and why', async () => {
  const [, waiting = ''] = await givenWaiting();
  const visitor = await operator();
  const page = await visitor.get(`/console/message/${waiting}`);
  expect(page.text).toContain(`<a class="button" href="/console/act/cancel?target=${waiting}">Cancel</a>`);
  const question = await visitor.get(`/console/act/cancel?target=${waiting}`);
  expect(question).toMatchObject({
    status: 200,
    text: expect.stringContaining('<h1>Cancel the message of chat 1001?</h1>'),
  });
  expect(await trail()).toEqual([]);
  const fields = { target: waiting, why: 'asked\nby mail', name: 'Ann' };
  expect(await act(visitor, 'cancel', fields)).toMatch(/^The message of chat 1001 is cancelled/);
  expect(await act(visitor, 'cancel', fields)).toBe('The message of chat 1001 was cancelled already.');
  expect(await trail()).toEqual([1, 2].map(() => ['cancel', waiting, 'console (Ann)', 'asked by mail']));
});

test('a chat is paused and resumed from its page, every chat from the status, after a question', async () => {
  await start();
  await ask('hello');
  const visitor = await operator();
  const page = `/console/chat/${CHAT}`;
  const [one, all] = [{ target: String(CHAT) }, { target: '*' }];
  expect((await visitor.get(page)).text).toContain(`/console/act/pause?target=${CHAT}`);
  const done = await act(visitor, 'pause', { ...one, why: 'a loop' });
  expect(done).toBe('Chat 1001 is paused: its messages wait.');
  const paused = (await visitor.get(page)).text;
  expect(paused).toMatch(/PAUSED by console .*: a loop/);
  expect(paused).toMatch(/action="\/console\/act\/resume">[\s\S]*value="1001"><button>Resume</);
  expect(await act(visitor, 'resume', one)).toBe('Chat 1001 resumes within seconds.');
  for (const place of ['/console', '/console/incidents'])
    expect((await visitor.get(place)).text).toContain('href="/console/act/pause?target=*">Pause all</a>');
  const question = await visitor.get('/console/act/pause?target=*');
  expect(question.text).toMatch(/<h1>Pause every chat\?<\/h1>[\s\S]*nobody gets an answer until you resume/);
  expect(await act(visitor, 'pause', { ...all, why: 'x' })).toBe('Every chat is paused: its messages wait.');
  expect((await visitor.get('/console')).text).toMatch(/Everything is paused by console: x[\s\S]*<button>Resume all/);
  expect(await act(visitor, 'resume', all)).toBe('Every chat resumes within seconds.');
  expect(await world.peek.exists(world.keys.paused)).toBe(0);
});

test('what is not a name, a filter or a place is refused by a page, and changes nothing', async () => {
  await givenLetters(['5-0']);
  const visitor = await operator();
  const form = await visitor.formKey('/console');
  const evil = '"><script>x</script>';
  const targets = ['', '*', evil, '1-0', '99999/5-0', '7/5-0', 'bob', '5-0 ', '0-0', '0..x', '9'.repeat(400)];
  for (const verb of ['cancel', 'retry', 'pause', 'resume', 'replay', 'purge', 'close', 'constructor'])
    for (const target of targets) {
      const query = `/console/act/${verb}?target=${encodeURIComponent(target)}`;
      const answers = [await visitor.get(query)];
      if (target !== '*') answers.push(await visitor.post(`/console/act/${verb}`, { form, target }));
      for (const { status, text } of answers)
        expect([verb, target, [200, 303, 404].includes(status), text.includes('<script>')]).toEqual([
          ...[verb, target, true, false],
        ]);
    }
  for (const query of ['chat=bob', `chat=${evil}`, 'chat=%00']) {
    const { status, text } = await visitor.get(`/console/dead?${query}`);
    expect([query, status, text.includes('<script>')]).toEqual([query, 200, false]);
  }
  expect(await keptLetters()).toEqual(['5-0']);
  expect(await trail()).toEqual([]);
});

test('no deed is done without a session, with the key of another one, or from elsewhere; each is told apart', async () => {
  await givenLetters(['5-0']);
  const visitor = await operator();
  const form = await visitor.formKey('/console');
  const stranger = visitorOf(visitor.url);
  const deeds: [path: string, fields: Record<string, string>][] = [
    ['/console/act/replay', { target: '5-0' }],
    ['/console/act/purge', { target: '5-0' }],
    ['/console/act/pause', { target: '*' }],
    ['/console/act/replay', { target: '0..9' }],
  ];
  for (const [path, fields] of deeds) {
    const refused = (status: number, text: string) => ({ status, text: expect.stringContaining(text) });
    const nobody = await stranger.post(path, { ...fields, form });
    expect(nobody).toMatchObject(refused(401, 'nothing was done'));
    const stale = await visitor.post(path, { ...fields, form: 'x'.repeat(43) });
    expect(stale).toMatchObject(refused(403, 'You have logged in again'));
    const foreign = await visitor.post(path, { ...fields, form }, { origin: 'https://evil.example' });
    expect(foreign).toMatchObject(refused(403, 'did not come from this console'));
  }
  for (const path of ['/console/act/purge?target=5-0', '/console/act/replay?target=0..9', '/console/dead'])
    expect((await stranger.get(path)).status).toBe(401);
  expect([await keptLetters(), await trail(), await world.peek.exists(world.keys.paused)]).toEqual([['5-0'], [], 0]);
});

test('while Redis is away the console says so, and answers a deed with a page that says that nothing is known of it', async () => {
  await givenLetters(['5-0']);
  const visitor = await operator();
  const form = await visitor.formKey('/console');
  await world.redis.stop();
  const page = await visitor.get('/console');
  expect(page).toMatchObject({ status: 503, text: expect.stringContaining('Red: Redis does not answer') });
  for (const [path, fields] of [
    ['/console/act/purge', { target: '5-0' }],
    ['/console/act/replay', { target: '0..9' }],
  ] as const) {
    const answer = await visitor.post(path, { form, ...fields });
    expect(answer).toMatchObject({ status: 503, text: expect.stringContaining('Redis does not answer') });
    expect(answer.text).toContain('Clicking twice does no harm');
  }
});
