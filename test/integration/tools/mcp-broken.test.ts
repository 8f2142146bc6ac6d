import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { LIMITS } from '../../../worker/features/mcp/limits.ts';
import { Link } from '../../../worker/features/mcp/link.ts';
import { ownFolder } from '../../fixture/clean-ups.ts';
import { http, httpServer, startToolbox, stdioServer, until } from '../../fixture/mcp-toolbox.ts';
import type { ListTools } from '../../fixture/mcp-tools.ts';

const SECRET = 'zq-very-secret-value';

function listWith(schemas: Record<string, unknown>): ListTools {
  return () => ({ tools: Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema })) });
}

const at = (a: unknown) => ({ type: 'object', properties: { a } });

test('a tool that the API would refuse is left out and named, and the others work', async () => {
  const broken = { echo: at({}), choice: { ...at({}), oneOf: [at({})] }, odd: at({ type: 'any' }), [SECRET]: {} };
  const server = await http({ list: listWith(broken) });
  const { names, omitted, log, say, box } = await startToolbox([httpServer('web', server.url, { 'X-Own': SECRET })]);
  expect(names()).toEqual(['web__echo']);
  expect(await say('web__echo', { text: 'here' })).toBe('here');
  expect(await say('web__odd')).toBe('There is no tool of this name.');
  expect(omitted('web')).toEqual([
    { tool: 'choice', why: expect.stringMatching(/a choice \(oneOf\) at the top/) },
    { tool: 'odd', why: expect.stringMatching(/\/properties\/a\/type must be/) },
    { tool: '[secret]', why: expect.stringMatching(/inputSchema.type .*expected "object"/) },
  ]);
  expect(box.state()).toMatchObject([{ server: 'web', problem: undefined, tools: 1 }]);
  await until('the stream of notifications is open', () =>
    server.headers.some(({ accept }) => accept === 'text/event-stream'),
  );
  const before = omitted('web');
  await server.relist(listWith({ ...broken, more: at({}) }));
  await until('the new tool', () => names().includes('web__more'));
  expect(omitted('web')).toEqual(before);
  await server.relist(listWith({ odd: at({ type: 'string' }) }));
  await until('the fixed tool', () => names().includes('web__odd'));
  expect(omitted('web')).toEqual([]);
  expect(JSON.stringify([before, log])).not.toContain(SECRET);
});

test('of a process whose input closes before it ends, what it said is told', async () => {
  const words = 'exec 0<&-; sleep 0.1; echo "error: the key is missing" >&2; echo "at line 3" >&2; exit 3';
  const server = { ...(await stdioServer('a')), command: 'sh', args: ['-c', words] };
  const { box } = await startToolbox([server]);
  expect(box.state()[0]?.problem).toBe('its process ended; it said: error: the key is missing');
});

test('hostile tools in a list are cut or left out, and a sound one still works', async () => {
  const deep = JSON.parse(`${'{"properties":{"a":'.repeat(1_000)}{}${'}}'.repeat(1_000)}`);
  const tools = [
    { name: 'deep', inputSchema: { ...deep, type: 'object' } },
    { name: 'long', inputSchema: at({ description: 'x'.repeat(1_000_000) }) },
    { name: 'wordy', description: `${'\ud83d'.repeat(500_000)}`, inputSchema: { type: 'object' } },
    { name: '\ud800', inputSchema: at({ enum: ['\udfff\0'] }) },
    { name: `\u001b]0;mine\u0007\u202e\n${'x'.repeat(1_000_000)}`, inputSchema: {} },
    { name: 7, inputSchema: {} },
    null,
    { name: 'echo', inputSchema: { type: 'object' } },
  ];
  const server = await http({ list: () => ({ tools }) });
  const { box, omitted, say } = await startToolbox([httpServer('web', server.url)]);
  const named = omitted('web').map(({ tool }) => tool);
  expect(named).toEqual(['deep', 'long', '', expect.stringMatching(/^]0;mine x+…$/), '', '']);
  expect(Math.max(...named.map((name) => name.length))).toBeLessThanOrEqual(64);
  const specs = JSON.stringify(box.specs());
  expect(specs).not.toMatch(/\\u(?:d[89a-f]|0000)/i);
  expect(specs.length).toBeLessThan(6_000);
  expect(await say('web__echo', { text: 'here' })).toBe('here');
});

test('all tools together stay within toolsCharsMax: descriptions are cut, then the last tools are omitted', async () => {
  const tools = Array.from({ length: 10 }, (_, index) => ({
    name: `t${index}`,
    description: '👩‍👩‍👧‍👦'.repeat(300),
    inputSchema: { type: 'object' },
  }));
  const server = await http({ list: () => ({ tools }) });
  const { box, names, omitted } = await startToolbox([httpServer('web', server.url)], {
    toolsCharsMax: 2_500,
  });
  expect(names()).toEqual(Array.from({ length: 6 }, (_, index) => `web__t${index}`));
  expect(JSON.stringify(box.specs()).length).toBeLessThan(3_200);
  for (const { description } of box.specs()) expect(description).toMatch(/^(?:👩‍👩‍👧‍👦)+…$/u);
  expect(omitted('web').map(({ tool }) => tool)).toEqual(['web__t6', 'web__t7', 'web__t8', 'web__t9']);
});

test('patterns of a server are never run: neither on what is sent to its tools nor on what they answer', async () => {
  const words = `${'a'.repeat(40)}!`;
  const hostile = { type: 'object', properties: { words: { type: 'string', pattern: '^(a|a)*$' } } };
  const list: ListTools = () => ({ tools: [{ name: 'trap', inputSchema: hostile, outputSchema: hostile }] });
  const server = await http({ list, tools: { trap: () => ({ content: [], structuredContent: { words } }) } });
  const { box, call } = await startToolbox([httpServer('web', server.url)]);
  // Against these words the pattern takes hours.
  expect(await call('web__trap', { words })).toEqual({
    parts: [{ type: 'text', text: JSON.stringify({ words }) }],
    isError: false,
  });
  // The model is told of it all the same.
  expect(box.specs()[0]?.inputSchema).toEqual(hostile);
});

test.each([
  ['as plain JSON', { json: true }],
  ['as a stream', { json: false }],
])('an answer over HTTP that is too large, %s, ends the connection, which is opened again', async (_, options) => {
  const server = await http(options);
  const { say } = await startToolbox([httpServer('web', server.url)], { messageBytesMax: 200_000 });
  expect(await say('web__big', { chars: 3_000_000 })).toMatch(
    /server was cut off \(it sent a message of more than 200000 bytes\) during the call; it may or may not/,
  );
  await until('it is found again', async () => (await say('web__big', { chars: 150_000 })).length === 150_000);
  expect(server.sessions()).toBe(1);
});

test('an endless answer is not read to its end, and the server is found again', async () => {
  let written = 0;
  const server = await http();
  server.pour((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = () => {
      while (!response.destroyed && written < 500_000_000) {
        written += 65_536;
        if (!response.write('x'.repeat(65_536))) return void response.once('drain', more);
      }
    };
    more();
  });
  const { say } = await startToolbox([httpServer('web', server.url)], { messageBytesMax: 1_000_000 });
  expect(await say('web__echo', { text: 'pour' })).toMatch(/cut off \(it sent a message of more than 1000000 bytes\)/);
  expect(written).toBeLessThan(100_000_000);
  await until('it is found again', async () => (await say('web__echo', { text: 'here' })) === 'here');
});

test('an answer that is a list of many messages is not read', async () => {
  const pings = Array.from({ length: 50_000 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
  const server = await http();
  server.pour((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(`\n ${JSON.stringify(pings)}`),
  );
  const { say } = await startToolbox([httpServer('web', server.url)]);
  expect(await say('web__echo', { text: 'pour' })).toMatch(/cut off \(it answered a request with a list of messages\)/);
});

test('an unsolicited message that is too large closes the connection, which is opened again', async () => {
  const server = await http();
  const { say, log } = await startToolbox([httpServer('web', server.url)], { messageBytesMax: 200_000 });
  await until('the stream of notifications is open', () =>
    server.headers.some(({ accept }) => accept === 'text/event-stream'),
  );
  await server.shout(1_000_000);
  await until('it is logged', () =>
    log.some(({ reason }) => /a message of more than 200000 bytes/.test(String(reason))),
  );
  await until('it is found again', async () => (await say('web__echo', { text: 'again' })) === 'again');
});

test('a tool list that is too large makes its server unavailable, with the size as the reason', async () => {
  const server = await http({ list: () => ({ tools: [{ name: 'x', description: 'x'.repeat(500_000) }] }) });
  const { box, names } = await startToolbox([httpServer('web', server.url)], { messageBytesMax: 200_000 });
  expect(names()).toEqual([]);
  expect(box.state()[0]?.problem).toMatch(/more than 200000 bytes/);
});

test('a child starts in its own empty, private folder, which a restart keeps and the stop removes', async () => {
  const [one, other] = [await stdioServer('a'), await stdioServer('b')];
  const { say, box } = await startToolbox([one, other]);
  const [a, b] = [JSON.parse(await say('a__folder')), JSON.parse(await say('b__folder'))];
  expect([a, b]).toEqual([
    { cwd: expect.stringContaining('spillway-mcp-'), files: [], mode: 0o700 },
    { cwd: expect.stringContaining('spillway-mcp-'), files: [], mode: 0o700 },
  ]);
  expect(a.cwd).not.toBe(b.cwd);
  // What a server leaves there stays for as long as it is kept, also when it is started again.
  await say('a__leave');
  await say('a__crash');
  await until('it is back', async () => (await say('a__echo', { text: 'again' })) === 'again');
  expect(JSON.parse(await say('a__folder'))).toMatchObject({ cwd: a.cwd, files: ['left-behind'] });
  await box.stop();
  for (const { cwd } of [a, b]) await expect(stat(cwd)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a configured folder is used as it is and kept after the stop; a missing one is a problem', async () => {
  const parent = await ownFolder();
  const cwd = join(parent, 'own');
  await mkdir(cwd, { mode: 0o755 });
  const server = { ...(await stdioServer('a')), cwd };
  const missing = { ...(await stdioServer('b')), cwd: join(parent, 'missing') };
  const { say, box } = await startToolbox([server, missing]);
  expect(JSON.parse(await say('a__folder'))).toEqual({ cwd, files: [], mode: 0o755 });
  expect(box.state()[1]?.problem).toMatch(/ENOENT/);
  await say('a__leave');
  await box.stop();
  expect((await stat(join(cwd, 'left-behind'))).isFile()).toBe(true);
});

test('a link whose program cannot have its folder is never ready, and can be closed', async () => {
  const settings = { folder: '/dev/null/in', sandbox: { kind: 'none', why: 'a test' } as const, onStderr: () => {} };
  const link = new Link(await stdioServer('a'), { ...LIMITS, timeoutMs: 1 }, settings);
  await expect(link.ready).rejects.toThrow(/ENOTDIR/);
  await link.close();
});
