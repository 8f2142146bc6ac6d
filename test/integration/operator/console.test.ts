import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { visitorOf } from '../../fixture/console.ts';
import { eachClosesConsoles, operator } from '../../fixture/each-console.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachClosesConsoles();
eachInWorld();

async function givenFailed(words: string, chat = CHAT): Promise<void> {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  world.telegram.say(chat, words);
  expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'failed' });
}

async function letter(): Promise<{ id: string; entry: string }> {
  const [[id = '', fields = []] = []] = await world.peek.xrevrange(world.keys.dead, '+', '-', 'COUNT', 1);
  return { id, entry: fields[1] ?? '' };
}

test('the status names what is in flight, the lanes and the oldest message, and links to its message and chat', async () => {
  world.claude.react(() => ({ do: 'answer', text: 'late', afterMs: 60_000 }));
  await start();
  for (const words of ['my secret one', 'two']) world.telegram.say(CHAT, words);
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  await until('lane of 2', async () => (await world.peek.llen(world.keys.lane(chatKey(CHAT)))) === 2 || undefined);
  const visitor = await operator();
  const { text } = await visitor.get('/console');
  const entry = /\/console\/message\/([\d-]+)/.exec(text)?.[1] ?? '';
  expect(text).toContain('asking the model');
  expect(text).toContain(`<a class="id" href="/console/chat/${CHAT}">${CHAT}</a>`);
  const message = await visitor.get(`/console/message/${entry}`);
  expect(message).toMatchObject({ status: 200, text: expect.stringContaining('Now: asking the model, attempt 1') });
  const chat = await visitor.get(`/console/chat/${CHAT}`);
  expect(chat).toMatchObject({ status: 200, text: expect.stringContaining(entry) });
  expect(text + message.text + chat.text).not.toContain('secret');
});

test('a dead letter that is put back is answered exactly once; a second click says that it was done already', async () => {
  await givenFailed('from the dead');
  world.claude.react((call) => ({ do: 'answer', text: call.pendingText }));
  const visitor = await operator();
  const form = await visitor.formKey('/console/dead');
  const { id } = await letter();
  const clicks = await Promise.all([1, 2].map(() => visitor.post('/console/act/replay', { form, target: id })));
  expect(clicks.map(({ status }) => status)).toEqual([303, 303]);
  const news = clicks.map(({ headers }) => headers.get('location')?.split('=')[1]).toSorted();
  expect(news).toEqual(['replay.gone', 'replay.replayed']);
  expect((await visitor.get('/console/dead?did=replay.replayed')).text).toContain('back at the end of its lane');
  await nextOutcome(world, CHAT, 2);
  expect(await readActions(world.peek, 2)).toContainEqual(
    expect.objectContaining({ deed: 'replay', by: 'console', target: id }),
  );
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  expect(world.telegram.shown(CHAT).filter(({ text }) => text === 'from the dead')).toHaveLength(1);
});

test('a form for a dead letter without the key of the session, or of another site, changes nothing', async () => {
  await givenFailed('stays');
  const visitor = await operator();
  const form = await visitor.formKey('/console/dead');
  const { id } = await letter();
  const refused = [
    await visitor.post('/console/act/replay', { target: id }),
    await visitor.post('/console/act/replay', { target: id, form }, { origin: 'https://evil.example' }),
    await visitorOf(visitor.url).post('/console/act/replay', { target: id, form }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 401]);
  expect((await letter()).id).toBe(id);
});

test('what a message says is shown only with LOG_CONTENT, and escaped', async () => {
  await givenFailed('<script>alert("secret")</script>');
  const { entry } = await letter();
  const hidden = await (await operator()).get(`/console/message/${entry}`);
  expect(hidden.text).toContain('LOG_CONTENT is off');
  expect(hidden.text).not.toContain('secret');
  const { text } = await (await operator({ LOG_CONTENT: 'true' })).get(`/console/message/${entry}`);
  expect(text).toContain('&lt;script&gt;alert(&quot;secret&quot;)&lt;/script&gt;');
});

/** Names and reasons that would be markup, in everything that the pages read. */
async function givenHostile(evil: string): Promise<void> {
  const record = {
    entry: evil,
    chat: evil,
    traceId: evil,
    atMs: Date.now(),
    outcome: evil,
    reason: evil,
    settledAtMs: 1,
  };
  const incident = {
    cause: evil,
    isOpen: true,
    openedMs: 1,
    lastMs: 1,
    messages: 1,
    chats: 1,
    chatNames: [evil],
    latest: evil,
  };
  const { keys, peek } = world;
  await peek.xadd(keys.dead, '5-0', 'entry', '4-0', 'record', JSON.stringify(record), 'chat', evil, 'message', evil);
  await peek.xadd(keys.events, '*', 'event', evil, 'record', JSON.stringify({ ...record, event: evil, kind: evil }));
  await peek.xadd(
    keys.events,
    '*',
    'event',
    'x',
    'record',
    JSON.stringify({
      ...record,
      event: 'model.answered',
      purpose: evil,
      model: evil,
      inputTokens: 1,
      outputTokens: 1,
      cacheReadTokens: 0,
    }),
  );
  await peek.hset(keys.incidents, `incident:${evil}`, JSON.stringify(incident));
  await peek.hset(keys.paused, '*', JSON.stringify({ sinceMs: 1, by: evil, why: evil }));
}

test('hostile names and reasons in Redis are shown as text on every page', async () => {
  const evil = `<script>x</script>"'><img src=x onerror=y>`;
  await givenHostile(evil);
  const visitor = await operator();
  const pages = [
    '',
    '/incidents',
    '/dead',
    '/recoveries',
    '/cost',
    '/message/5-0',
    `/chat/${encodeURIComponent(evil)}`,
  ];
  for (const page of [
    ...pages,
    `/find?name=${encodeURIComponent(evil)}`,
    `/dead?did=${encodeURIComponent(evil)}&chat=<b>`,
  ]) {
    const { status, text } = await visitor.get(`/console${page}`);
    expect([page, status < 500, /<script|<img|<b>"/.test(text)]).toEqual([page, true, false]);
  }
  expect((await visitor.get('/console/recoveries')).text).toContain('&lt;script&gt;');
  expect((await visitor.get('/console/incidents')).text).toContain('&lt;script&gt;');
});

test('recoveries, cost and incidents show what happened, and an unknown message, chat or page is 404', async () => {
  await givenFailed('hello');
  world.claude.react(() => ({ do: 'answer', text: 'fine' }));
  world.telegram.say(CHAT, 'again');
  await nextOutcome(world, CHAT, 2);
  await world.peek.xadd(
    world.keys.events,
    ...['*', 'event', 'context.compacted', 'record'],
    JSON.stringify({
      entry: '1-0',
      chat: String(CHAT),
      traceId: '',
      atMs: Date.now(),
      event: 'context.compacted',
      calls: 2,
    }),
  );
  const visitor = await operator();
  expect((await visitor.get('/console/recoveries')).text).toMatch(/context\.compacted.*calls 2/s);
  expect((await visitor.get('/console/cost?days=1')).text).toMatch(/1 answered, 1 failed/);
  for (const path of ['/message/1-0', '/chat/77', '/chat/x', '/nowhere'])
    expect([path, (await visitor.get(`/console${path}`)).status]).toEqual([path, 404]);
  expect((await visitor.get(`/console/find?name=${CHAT}`)).headers.get('location')).toBe(`/console/chat/${CHAT}`);
});

test('an incident names the section of the runbook that is about it, and not itself', async () => {
  const incident = { v: 9, cause: 'of-tomorrow', isOpen: true, openedMs: Date.now(), latest: 'What will be.' };
  await world.peek.hset(world.keys.incidents, 'incident:of-tomorrow', JSON.stringify(incident));
  const { text } = await (await operator()).get('/console/incidents');
  expect(text).toContain('Runbook: <a class="id" href="/console/runbook/other-version">other-version</a>');
  expect(text).not.toContain('runbook/of-tomorrow');
});

test('a session that is named leads to its page, which leads to the one before it and back to its chat', async () => {
  await start();
  world.telegram.say(CHAT, 'my secret');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, '/new');
  await nextOutcome(world, CHAT, 2);
  world.telegram.say(CHAT, 'again');
  await nextOutcome(world, CHAT, 3);
  const visitor = await operator();
  const linkIn = (text: string) => /href="(\/console\/session\/[^"]+)">s-/.exec(text)?.[1] ?? '';
  const chat = await visitor.get(`/console/chat/${CHAT}`);
  const newest = await visitor.get(linkIn(chat.text));
  expect(newest).toMatchObject({
    status: 200,
    text: expect.stringContaining(`href="/console/chat/${CHAT}">${CHAT}</a>`),
  });
  const first = await visitor.get(linkIn(newest.text));
  expect([first.status, first.text.includes('secret')]).toEqual([200, false]);
  for (const name of [`${CHAT}/s-none`, 'bob/s-1', `${CHAT}`, `${CHAT}/"><script>`, '//'])
    expect((await visitor.get(`/console/session/${encodeURIComponent(name)}`)).status).toBe(404);
});
