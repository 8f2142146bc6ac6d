import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { McpHttp } from '../../fixture/mcp-http.ts';
import { http, httpServer, startToolbox, textOf, until } from '../../fixture/mcp-toolbox.ts';
import { type ListTools, listOf } from '../../fixture/mcp-tools.ts';

const SECRET = 'zq-very-secret-value';
const MAYBE = /it may or may not have taken effect/;

function isListening({ headers }: McpHttp): boolean {
  return headers.some(({ accept }) => accept === 'text/event-stream');
}

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
  const [whole, endless, large] = await Promise.all([
    http({ list: page(2, 2) }),
    http({ list: page(1, Number.POSITIVE_INFINITY) }),
    http({ list: page(100, Number.POSITIVE_INFINITY) }),
  ]);
  const { names, omitted } = await startToolbox(
    [httpServer('whole', whole.url), httpServer('endless', endless.url), httpServer('large', large.url)],
    { pagesMax: 5, toolsMax: 20 },
  );
  const of = (server: string) => names().filter((name) => name.startsWith(server));
  expect(of('whole')).toEqual(['t0', 't1', 't2', 't3', 't4', 't5'].map((name) => `whole__${name}`));
  expect(of('endless')).toHaveLength(5);
  expect(of('large')).toHaveLength(20);
  expect(omitted('whole')).toEqual([]);
  const rest = [{ tool: 'the_rest', why: 'at most 20 tools on 5 pages are taken' }];
  expect([omitted('endless'), omitted('large')]).toEqual([rest, rest]);
});

test('a tool list that changes is read again, and the old one stays when the new one cannot be read', async () => {
  const server = await http({ list: listOf(['echo']) });
  const { box, names, say, log } = await startToolbox([httpServer('web', server.url)]);
  await until('the stream of notifications is open', () => isListening(server));
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

test('opens a new session when the server forgot the old one', async () => {
  const server = await http();
  const { say } = await startToolbox([httpServer('web', server.url)]);
  await until('the stream of notifications is open', () => isListening(server));
  server.forget();
  expect(await say('web__echo', { text: 'x' })).toMatch(/not available right now|server stopped during the call/);
  await until('a new session', async () => (await say('web__echo', { text: 'again' })) === 'again');
});

test.each([
  { held: 'a while', steadyMs: 0, tries: [1, 1, 1] },
  { held: 'only a moment', steadyMs: 60_000, tries: [1, 2, 3] },
])('after connections that held for $held, the counted tries are $tries', async ({ steadyMs, tries }) => {
  const server = await http();
  const { say, log } = await startToolbox([httpServer('web', server.url)], { steadyMs });
  for (const _ of tries) {
    server.forget();
    await say('web__echo', { text: 'x' });
    await until('a new session', async () => (await say('web__echo', { text: 'again' })) === 'again');
  }
  expect(log.filter(({ level }) => level === 40).map((line) => line.tries)).toEqual(tries);
});

test('a server that does not list its tools within connectMs is retried', async () => {
  const server = await http({ list: () => new Promise(() => undefined) });
  const { names, log } = await startToolbox([httpServer('web', server.url)], { connectMs: 1_000 });
  expect(names()).toEqual([]);
  await server.relist(listOf(['echo']));
  await until('its tools appear', () => names().length > 0);
  expect(log.some(({ level }) => level === 40)).toBe(true);
});

test('a server whose list does not end within connectMs is given up', async () => {
  const slow = async (cursor: string | undefined) => {
    await pause(30);
    return { tools: [], nextCursor: `${cursor}+` };
  };
  const server = await http({ list: slow });
  const { log } = await startToolbox([httpServer('web', server.url)], { connectMs: 200 });
  await until('it is given up', () =>
    log.some(({ level, reason }) => level === 40 && reason === 'it was not ready in time'),
  );
});

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

test('a server that answers 500 and 429 for a moment keeps its session and its calls in flight', async () => {
  const server = await http();
  const { call, say } = await startToolbox([httpServer('web', server.url)]);
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
});

test('a 503 from a proxy ends the calls in flight, and the server is found again when the 503 ends', async () => {
  const server = await http();
  const { call, say } = await startToolbox([httpServer('web', server.url)]);
  const hanging = call('web__hang');
  await until('the call is there', () => server.notes.includes('hang began'));
  server.refuse(503);
  expect(await call('web__echo', { text: 'x' })).toMatchObject({ isError: true });
  expect(textOf(await hanging)).toMatch(/server stopped during the call/);
  server.refuse(undefined);
  await until('it is found again', async () => (await say('web__echo', { text: 'again' })) === 'again');
});

test('an HTTP server that closes ends its calls at once, and is found again when it is back', async () => {
  const server = await http();
  const { call, say, box } = await startToolbox([httpServer('web', server.url)]);
  const before = box.specs();
  const hanging = call('web__hang');
  await until('the call is there', () => server.notes.includes('hang began'));
  const began = performance.now();
  await server.close();
  expect(textOf(await hanging)).toMatch(/(?:server stopped during the call|failed on its way).*may or may not/);
  expect(performance.now() - began).toBeLessThan(2_000);
  expect(await say('web__echo', { text: 'x' })).toMatch(/not available right now|server stopped during the call/);
  await http({ port: Number(new URL(server.url).port) });
  await until('it is found again', async () => (await say('web__echo', { text: 'again' })) === 'again');
  expect(box.specs()).toBe(before);
});

test('stop ends the session on the server', async () => {
  const server = await http();
  const { box, say } = await startToolbox([httpServer('web', server.url)]);
  expect(await say('web__echo', { text: 'x' })).toBe('x');
  expect(server.sessions()).toBe(1);
  await box.stop();
  expect(server.sessions()).toBe(0);
});
