import { expect, test } from '@jest/globals';
import type { Incident } from '../../../worker/alerts/incident.ts';
import { runCli } from '../../fixture/cli.ts';
import { act, givenLetters, keptLetters, operator, trail } from '../../fixture/each-console.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';

eachInWorld();

const SINCE = Date.parse('2026-11-22T10:00:00Z');

/** An incident as it stands in the book. */
async function givenIncident(about: Partial<Incident> & Pick<Incident, 'cause'>): Promise<void> {
  const incident: Incident = {
    ...{ key: '', isOpen: true, openedMs: SINCE, lastMs: SINCE + 60_000, reopenings: 0, level: '' },
    ...{ first: 'It began.', latest: 'It goes on.', messages: 3, chats: 2, chatNames: ['1001', '-100555.7'] },
    ...{ occurrences: [], occurrencesMore: 0 },
    ...about,
  };
  const name = incident.key === '' ? incident.cause : `${incident.cause}:${incident.key}`;
  await world.peek.hset(world.keys.incidents, `incident:${name}`, JSON.stringify(incident));
}

test('an incident has a page with its severity, its facts, its chats and the runbook', async () => {
  await givenIncident({ cause: 'provider', traceId: 'a'.repeat(32) });
  const visitor = await operator();
  const list = (await visitor.get('/console/incidents')).text;
  expect(list).toMatch(
    /<li class="bad"><h3><span class="severity">Page<\/span> <a class="id" href="\/console\/incident\/provider">provider</,
  );
  expect(list).toMatch(/<details open><summary>What the runbook says<\/summary>[\s\S]*No call goes through/);
  expect(list).toContain('Runbook: <a class="id" href="/console/runbook/provider">provider</a>');
  const { status, text } = await visitor.get('/console/incident/provider');
  expect(status).toBe(200);
  for (const piece of [
    'Nobody gets an answer: the model endpoint fails',
    'It goes on.',
    'href="/console/chat/1001"',
    'href="/console/chat/-100555.7"',
    `href="/console/message/${'a'.repeat(32)}"`,
    'No call goes through',
    '<li class="bad"><h3><span class="severity">Page</span>',
  ])
    expect(text).toContain(piece);
});

test('the trace and the runbook have links where their addresses are set, and a message has its trace too', async () => {
  await givenIncident({ cause: 'provider', traceId: 'a'.repeat(32) });
  const visitor = await operator({
    TRACE_URL_TEMPLATE: 'https://traces.example/t/%7BtraceId%7D',
    RUNBOOK_URL: 'https://wiki.example/runbook',
  });
  const { text } = await visitor.get('/console/incident/provider');
  expect(text).toContain(`href="https://traces.example/t/${'a'.repeat(32)}">${'a'.repeat(32)}</a>`);
  expect(text).toContain('href="https://wiki.example/runbook#provider"');
  const ended = {
    entry: '7-0',
    chat: '1001',
    traceId: 'b'.repeat(32),
    outcome: 'answered',
    settledAtMs: 9,
    attempts: 1,
  };
  await world.peek.xadd(world.keys.outcomes, '8-0', 'outcome', 'answered', 'record', JSON.stringify(ended));
  const message = await visitor.get('/console/message/7-0');
  expect(message.text).toContain(`href="https://traces.example/t/${'b'.repeat(32)}">${'b'.repeat(32)}</a>`);
});

test('a note has its own words and no colour, on the page, the terminal and in the status, and no chats without names', async () => {
  await givenIncident({ cause: 'fresh-session', chatNames: [] });
  await givenIncident({ cause: 'provider', openedMs: SINCE - 60_000 });
  const visitor = await operator();
  // The worst comes first, whatever began last.
  const severities = [...(await visitor.get('/console/incidents')).text.matchAll(/"severity">(\w+)</g)];
  expect(severities.map(([, word]) => word)).toEqual(['Page', 'Info']);
  for (const page of ['', '/incidents', '/incident/fresh-session']) {
    const { text } = await visitor.get(`/console${page}`);
    expect(text).toMatch(/<li class="plain"><h3><span class="severity">Info<\/span>[\s\S]*; 3 times; 2 chats<\/p>/);
  }
  expect((await runCli(['status'], world.env)).stdout).toMatch(
    /^Info · .*fresh-session: .*\n {2}OPEN for .*; 2 chats$/m,
  );
});

test('without the runbook in the installation its page says so, and leads to RUNBOOK_URL', async () => {
  await givenIncident({ cause: 'provider' });
  const visitor = await operator({ RUNBOOK_URL: 'https://wiki.example/runbook' }, '/nowhere/runbook.md');
  const page = await visitor.get('/console/runbook/provider');
  expect(page).toMatchObject({ status: 404, text: expect.stringContaining('docs/runbook.md is missing') });
  const beside = await visitor.get('/console/incident/provider');
  for (const { text } of [page, beside]) expect(text).toContain('href="https://wiki.example/runbook#provider"');
  expect(beside).toMatchObject({ status: 200, text: expect.stringContaining('docs/runbook.md is missing') });
});

test('what failed in the time of an incident is put back from its page, and nothing else', async () => {
  const [before, first, last, after] = [-700_000, -30_000, 60_000, 300_000].map((ms) => `${SINCE + ms}-0`);
  await givenLetters([before, first, last, after].map(String));
  await givenIncident({ cause: 'failed', isOpen: false, endedMs: SINCE + 120_000 });
  const visitor = await operator();
  const { text } = await visitor.get('/console/incident/failed');
  const [, path = '', target = ''] =
    /href="([^"]*\?target=([^"]*))">Replay the 2 that failed in its time</.exec(text) ?? [];
  expect((await visitor.get(path)).text).toContain('<h1>Replay 2 dead letters?</h1>');
  await act(visitor, 'replay', { target });
  expect(await keptLetters()).toEqual([before, after]);
});

test('the chats of an incident are paused and resumed from its page, unless they are many', async () => {
  await givenIncident({ cause: 'failed' });
  const visitor = await operator();
  expect((await visitor.get('/console/incident/failed')).text).toContain('target=-100555.7">Pause chat -100555.7</a>');
  await act(visitor, 'pause', { target: '-100555.7', why: 'a loop' });
  expect((await visitor.get('/console/incident/failed')).text).toContain('<button>Resume chat -100555.7</button>');
  expect(await trail()).toEqual([['pause', '-100555.7', 'console', 'a loop']]);
  await givenIncident({ cause: 'failed', chats: 6, chatNames: ['1', '2', '3', '4', '5', '6'] });
  const many = (await visitor.get('/console/incident/failed')).text;
  expect([many.includes('Pause chat'), many.includes('Pause all')]).toEqual([false, true]);
});

test('a letter is removed after a question that names its message; one that is gone says so', async () => {
  await givenLetters(['5-0', '6-0']);
  const visitor = await operator();
  expect((await visitor.get('/console/dead')).text).toContain('href="/console/act/purge?target=5-0">Remove</a>');
  const question = await visitor.get('/console/act/purge?target=5-0');
  expect(question.text).toContain('Message 15-0 of chat 1001 (refused) will never be answered.');
  expect(await keptLetters()).toEqual(['5-0', '6-0']);
  expect(await act(visitor, 'purge', { target: '5-0' })).toBe('Dead letter 5-0 is removed for good.');
  const form = await visitor.formKey('/console');
  expect(await visitor.post('/console/act/purge', { form, target: '5-0' })).toMatchObject({
    ...{ status: 404, text: expect.stringMatching(/There is no dead letter 5-0\. It may have been replayed/) },
  });
  expect(await keptLetters()).toEqual(['6-0']);
});

test('the newest letters are shown; all are put back after a question, but for what an operator did, and once', async () => {
  const all = Array.from({ length: 120 }, (_, at) => `${at + 1}-0`);
  await givenLetters(all.slice(0, -1));
  await givenLetters(all.slice(-1), { chat: '1002' });
  await givenLetters(['500-0'], { chat: '9001!!' });
  const visitor = await operator();
  const shown = (page: string) => [...page.matchAll(/name="target" value="(\d+-0)"/g)].map(([, id]) => id);
  const ofOne = (await visitor.get('/console/dead?chat=1002')).text;
  expect(shown(ofOne)).toEqual(['120-0']);
  expect(ofOne).not.toContain('Replay all');
  const { text } = await visitor.get('/console/dead');
  expect([shown(text).at(0), shown(text).at(-1)]).toEqual(['500-0', '72-0']);
  expect(text).toContain('and 71 more letters');
  const [, path = '', target = ''] = /href="([^"]*\?target=([^"]*))">Replay all 120</.exec(text) ?? [];
  expect((await visitor.get(path)).text).toMatch(/<h1>Replay 120 dead letters\?<\/h1>/);
  expect(await keptLetters()).toHaveLength(121);
  const fields = { target, why: 'it is <over>', name: 'Ann' };
  expect(await act(visitor, 'replay', fields)).toBe('Replayed 120 of 120.');
  expect(await act(visitor, 'replay', fields)).toBe('Nothing to replay.');
  expect(await keptLetters()).toEqual(['500-0']);
  const entries = (await world.peek.xrange(world.keys.inbound, '-', '+')).map(([, fields]) => fields[1] ?? '');
  expect(entries.toSorted()).toEqual(all.map((id) => `1${id}`).toSorted());
  for (const [deed, , by, why] of await trail())
    expect([deed, by, why]).toEqual(['replay', 'console (Ann)', 'it is <over>']);
  // Since the question was made.
  await givenLetters([`${Date.now() + 60_000}-0`]);
  await act(visitor, 'replay', fields);
  expect(await keptLetters()).toHaveLength(2);
});
