import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import {
  http,
  httpServer,
  startToolbox,
  textOf,
  until,
  untilListening,
  webToolbox,
} from '../../fixture/mcp-toolbox.ts';
import { type ListTools, listOf } from '../../fixture/mcp-tools.ts';

const SECRET = 'zq-very-secret-value';
const MAYBE = /it may or may not have taken effect/;

test('odd and similar tool names get unique valid names that call the right tool; duplicates are omitted', async () => {
  const odd = ['get.it', 'get_it', 'погода', 'x'.repeat(90), `${'x'.repeat(90)}y`, 'echo'];
  const tools = Object.fromEntries(odd.map((name) => [name, () => ({ content: [{ type: 'text', text: name }] })]));
  const one = await http({ tools, list: listOf([...odd, 'echo']) });
  const other = await http({ tools: { it__echo: () => ({ content: [{ type: 'text', text: 'other' }] }) } });
  const { box, names, say, omitted } = await startToolbox([
    httpServer('my server__it', one.url),
    httpServer('my server', other.url),
  ]);
  expect(new Set(names()).size).toBe(odd.length + 1);
  for (const name of names()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  const said = [];
  for (const name of names()) said.push(await say(name));
  expect(said).toEqual([...odd, 'other']);
  expect(box.specs()[0]).toMatchObject({ description: 'get.it', inputSchema: { type: 'object' }, repeatable: false });
  expect(omitted('my server__it')).toEqual([{ tool: expect.any(String), why: 'its server lists this name twice' }]);
});

test('a list in pages is read to its end, and an endless one up to pagesMax and toolsMax', async () => {
  const page = (size: number, last: number) => (cursor: string | undefined) => {
    const at = Number(cursor ?? 0);
    const tools = Array.from({ length: size }, (_, index) => ({
      name: `t${at * size + index}`,
      inputSchema: { type: 'object' },
    }));
    return { tools, ...(at < last && { nextCursor: String(at + 1) }) };
  };
  const lists = { whole: page(2, 2), endless: page(1, 9_999), large: page(100, 9_999) };
  const servers = Object.entries(lists).map(async ([name, list]) => httpServer(name, (await http({ list })).url));
  const { names, omitted } = await startToolbox(await Promise.all(servers), { pagesMax: 5, toolsMax: 20 });
  const of = (server: string) => names().filter((name) => name.startsWith(server));
  expect(of('whole')).toEqual(['t0', 't1', 't2', 't3', 't4', 't5'].map((name) => `whole__${name}`));
  expect(of('endless')).toHaveLength(5);
  expect(of('large')).toHaveLength(20);
  expect(omitted('whole')).toEqual([]);
  const rest = [{ tool: 'the_rest', why: 'at most 20 tools on 5 pages are taken' }];
  expect([omitted('endless'), omitted('large')]).toEqual([rest, rest]);
});

test('a tool list that changes is read again, and the old one stays when the new one cannot be read', async () => {
  const { server, box, names, say, log } = await webToolbox({ list: listOf(['echo']) });
  await untilListening(server);
  const before = box.specs();
  await server.relist(() => {
    throw new Error(`no list today, says ${SECRET}`);
  });
  await until('the failure is logged', () => log.some(({ msg }) => /could not be listed/.test(String(msg))));
  expect(box.specs()).toBe(before);
  await server.relist(listOf(['echo']));
  await server.relist(listOf(['echo', 'hang']));
  await until('the new tool is there', () => names().includes('web__hang'));
  expect(names()).toEqual(['web__echo', 'web__hang']);
  await server.relist(listOf(['hang']));
  await until('the old tool is gone', () => !names().includes('web__echo'));
  expect(await say('web__echo', { text: 'x' })).toMatch(/no tool of this name/);
});

test('configured headers go with every request, and never into a log or an answer', async () => {
  const server = await http();
  const { call, say, log } = await startToolbox([
    httpServer('web', `${server.url}?key=${SECRET}`, { 'X-Own': SECRET }),
  ]);
  expect(await say('web__echo', { text: 'x' })).toBe('x');
  expect(server.headers.filter((headers) => headers['x-own'] !== SECRET)).toEqual([]);
  const failed = await call('web__throw', { text: `you sent ${SECRET}` });
  expect(textOf(failed)).toMatch(/you sent \[secret\]/);
  await server.close();
  expect(textOf(await call('web__echo'))).not.toContain(SECRET);
  await until('the loss is logged', () => log.some(({ level }) => level === 40));
  expect(JSON.stringify(log)).not.toContain(SECRET);
});

test.each([
  { held: 'a while', steadyMs: 0, tries: [1, 1, 1] },
  { held: 'only a moment', steadyMs: 60_000, tries: [1, 2, 3] },
])(
  'a server that forgot its session gets a new one; after connections that held for $held, the counted tries are $tries',
  async ({ steadyMs, tries }) => {
    const { server, serves, say, log } = await webToolbox({}, { steadyMs });
    await untilListening(server);
    for (const _ of tries) {
      server.forget();
      expect(await say('web__echo')).toMatch(/not available right now|server stopped during the call/);
      await serves('web');
    }
    expect(log.filter(({ level }) => level === 40).map((line) => line.tries)).toEqual(tries);
  },
);

test('a list that changes whenever it is read is read at most once per relistMs', async () => {
  const times: number[] = [];
  const list: ListTools = () => {
    times.push(performance.now());
    setImmediate(() => void server.relist(list));
    return { tools: [] };
  };
  const server = await http({ list });
  await startToolbox([httpServer('web', server.url)], { relistMs: 100 });
  await until('it was read four times', () => times.length >= 4);
  // Between the first and the second there need not be anything.
  for (const at of [2, 3]) expect((times[at] ?? 0) - (times[at - 1] ?? 0)).toBeGreaterThan(90);
});

test('a server that answers 500 and 429 for a moment keeps its session and its calls in flight; a stop ends the session', async () => {
  const { server, box, call, say } = await webToolbox();
  const met = say('web__meet', { text: 'met' });
  await until('the other call is there', () => server.notes.includes('waits to meet'));
  for (const status of [500, 429]) {
    server.refuse(status);
    const [refused] = await Promise.all([call('web__echo', { text: 'x' }), call('web__echo', { text: 'x' })]);
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(MAYBE);
  }
  server.refuse(undefined);
  expect(await say('web__meet', { text: 'too' })).toBe('too');
  expect(await met).toBe('met');
  expect(server.sessions()).toBe(1);
  await box.stop();
  expect(server.sessions()).toBe(0);
});

test.each(['closes', 'answers 503'])(
  'a server that %s ends the calls in flight at once, and is found again',
  async (end) => {
    const { server, serves, call, say, box } = await webToolbox();
    const before = box.specs();
    const hanging = call('web__hang');
    await until('the call is there', () => server.notes.includes('hang began'));
    const began = performance.now();
    if (end === 'closes') await server.close();
    else server.refuse(503);
    expect(await say('web__echo', { text: 'x' })).toMatch(
      /not available right now|server stopped during the call|failed/,
    );
    expect(textOf(await hanging)).toMatch(/(?:server stopped during the call|failed on its way).*may or may not/);
    expect(performance.now() - began).toBeLessThan(2_000);
    if (end === 'closes') await http({ port: Number(new URL(server.url).port) });
    else server.refuse(undefined);
    await serves('web');
    expect(box.specs()).toBe(before);
  },
);

test.each([
  ['never comes', () => new Promise(() => undefined)],
  ['never ends', () => pause(30, { tools: [], nextCursor: 'more' })],
])('a server whose list %s is given up after connectMs, and tried again', async (_, list) => {
  const { server, names, log } = await webToolbox({ list }, { connectMs: 300 });
  await until('it is given up', () =>
    log.find(({ level, reason }) => level === 40 && reason === 'it was not ready in time'),
  );
  expect(names()).toEqual([]);
  await server.relist(listOf(['echo']));
  await until('its tools appear', () => names().length > 0);
});
