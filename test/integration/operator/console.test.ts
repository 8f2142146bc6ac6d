import { expect, test } from '@jest/globals';
import { recordAction } from '../../../shared/state/process/actions.ts';
import { REPORTS, type ReportRule } from '../../../worker/report/reports.ts';
import { givenFailed, operator } from '../../fixture/each-console.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { until } from '../../fixture/root.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachInWorld();

async function letter(): Promise<{ id: string; entry: string }> {
  const [[id = '', fields = []] = []] = await world.peek.xrevrange(world.keys.dead, '+', '-', 'COUNT', 1);
  return { id, entry: fields[1] ?? '' };
}

test('every report has a page, none of which shows what a message says, except with LOG_CONTENT, and escaped', async () => {
  await givenFailed('<script>alert("secret")</script>');
  const { id, entry } = await letter();
  await until('incident', async () => (await world.peek.hkeys(world.keys.incidents)).find((name) => /^inc/.test(name)));
  const visitor = await operator();
  const names: Record<string, string> = { message: entry, chat: `${CHAT}`, incident: 'provider', letter: id };
  for (const { page, args } of Object.values<ReportRule>(REPORTS).filter((rule) => rule.page !== 'session')) {
    const { status, text } = await visitor.get(`/console/${page}${args ? `/${names[page]}` : ''}`);
    expect([page, status, text.includes('secret')]).toEqual([page, 200, false]);
  }
  const status = (await visitor.get('/console')).text;
  expect(status).toContain(`<a class="id" href="/console/incident/provider">provider</a>`);
  expect((await visitor.get('/console/dead')).text).toContain(`href="/console/message/${entry}">${entry}</a>`);
  const filtered = await visitor.get('/console/dead?reason=refused&chat=bob');
  expect(filtered.text).toMatch(/<h1>0 dead letters<\/h1>[\s\S]*name="reason"[^>]*value="refused"/);
  expect((await visitor.get(`/console/message/${entry}`)).text).toContain('LOG_CONTENT is off');
  const open = await operator({ LOG_CONTENT: 'true' });
  const { text } = await open.get(`/console/message/${entry}`);
  expect(text).toContain('&lt;script&gt;alert(&quot;secret&quot;)&lt;/script&gt;');
});

/** Names and reasons that would be markup, in everything that the pages read. */
async function givenHostile(evil: string): Promise<void> {
  const names = { entry: evil, chat: evil, traceId: evil, outcome: evil, reason: evil };
  const record = { ...names, atMs: Date.now(), settledAtMs: 1 };
  const times = { openedMs: 1, lastMs: 1, messages: 1, chats: 1 };
  const incident = { cause: evil, isOpen: true, ...times, chatNames: [evil], latest: evil };
  const call = {
    event: 'model.answered',
    purpose: evil,
    model: evil,
    inputTokens: 1,
    outputTokens: 1,
    cacheReadTokens: 0,
  };
  const { keys, peek } = world;
  await peek.xadd(keys.dead, '5-0', 'entry', '4-0', 'record', JSON.stringify(record), 'chat', evil, 'message', evil);
  await peek.xadd(keys.events, '*', 'event', evil, 'record', JSON.stringify({ ...record, event: evil, kind: evil }));
  await peek.xadd(keys.events, '*', 'event', 'x', 'record', JSON.stringify({ ...record, ...call }));
  await recordAction(peek, 'pause', evil, { by: evil, why: evil });
  await peek.hset(keys.incidents, {
    [`incident:${evil}`]: JSON.stringify(incident),
    [`incident:tool-refused:${evil}`]: JSON.stringify({ ...incident, cause: 'tool-refused', key: evil }),
  });
  await peek.hset(keys.paused, '*', JSON.stringify({ sinceMs: 1, by: evil, why: evil }));
}

test('hostile names and reasons in Redis are shown as text on every page', async () => {
  const evil = `<script>x</script>"'><img src=x onerror=y>`;
  await givenHostile(evil);
  const visitor = await operator();
  const escaped = encodeURIComponent(evil);
  const lists = Object.values<ReportRule>(REPORTS).flatMap(({ page, args }) => (args ? [] : [`/${page}`]));
  const incident = `/incident/${encodeURIComponent('tool-refused:')}${escaped}`;
  const ids = ['chat', 'incident', 'session', 'runbook'].map((of) => `/${of}/${escaped}`);
  const named = ['/message/5-0', '/letter/5-0', incident, ...ids];
  for (const page of [...lists, ...named, `/find?name=${escaped}`, `/dead?did=${escaped}&chat=<b>`]) {
    const { status, text } = await visitor.get(`/console${page}`);
    expect([page, status < 500, /<script|<img|<b>"/.test(text)]).toEqual([page, true, false]);
  }
  expect((await visitor.get('/console/recoveries')).text).toContain('&lt;script&gt;');
  const list = (await visitor.get('/console/incidents')).text;
  expect(list).toContain('&lt;script&gt;');
  expect(list).toContain(`href="/console${incident.replaceAll("'", '&#39;')}"`);
  expect((await visitor.get(`/console${incident}`)).status).toBe(200);
});

test('an unknown message, chat or page is 404, and what is searched for is found', async () => {
  const visitor = await operator();
  const incidents = ['x', 'provider', '%00', 'constructor', '%2F'].map((name) => `/incident/${name}`);
  const others = ['/runbook/x', '/runbook/%00', '/runbook/constructor', '/nowhere'];
  for (const path of ['/message/1-0', '/message/x', '/chat/77', '/chat/x', '/letter/1-0', ...incidents, ...others])
    expect([path, (await visitor.get(`/console${path}`)).status]).toEqual([path, 404]);
  expect((await visitor.get(`/console/find?name=${CHAT}`)).headers.get('location')).toBe(`/console/chat/${CHAT}`);
});

test('a session that is named leads to its page, which leads to the one before it and back to its chat', async () => {
  await start();
  await ask('my secret');
  await ask('/new', 2);
  await ask('again', 3);
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
  for (const name of [`${CHAT}/s-none`, 'bob/s-1', `${CHAT}/"><script>`, '//'])
    expect((await visitor.get(`/console/session/${encodeURIComponent(name)}`)).status).toBe(404);
});
