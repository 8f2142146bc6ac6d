import { mkdir, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { LIMITS } from '../../../worker/features/mcp/limits.ts';
import { Link } from '../../../worker/features/mcp/link.ts';
import { ownFolder } from '../../fixture/clean-ups.ts';
import {
  http,
  httpServer,
  startToolbox,
  stdioServer,
  until,
  untilListening,
  webToolbox,
} from '../../fixture/mcp-toolbox.ts';
import type { ListTools } from '../../fixture/mcp-tools.ts';

const SECRET = 'zq-very-secret-value';

const at = (a: unknown) => ({ type: 'object', properties: { a } });

test('hostile tools in a list are cut, or left out and named until they are mended, and a sound one works', async () => {
  const deep = JSON.parse(`${'{"properties":{"a":'.repeat(1_000)}{}${'}}'.repeat(1_000)}`);
  const tools = [
    { name: 'deep', inputSchema: { ...deep, type: 'object' } },
    { name: 'long', inputSchema: at({ description: 'x'.repeat(1_000_000) }) },
    { name: 'wordy', description: `${'\ud83d'.repeat(500_000)}`, inputSchema: { type: 'object' } },
    { name: '\ud800', inputSchema: at({ enum: ['\udfff\0'] }) },
    { name: `\u001b]0;mine\u0007\u202e\n${'x'.repeat(1_000_000)}`, inputSchema: {} },
    { name: 7, inputSchema: {} },
    null,
    { name: SECRET, inputSchema: {} },
    { name: 'odd', inputSchema: at({ type: 'any' }) },
    { name: 'echo', inputSchema: { type: 'object' } },
  ];
  const server = await http({ list: () => ({ tools }) });
  const { box, log, names, omitted, say } = await startToolbox([httpServer('web', server.url, { 'X-Own': SECRET })]);
  const left = omitted('web');
  const named = left.map(({ tool }) => tool);
  expect(named).toEqual(['deep', 'long', '', expect.stringMatching(/^]0;mine x+…$/), '', '', '[secret]', 'odd']);
  expect(left.at(-1)?.why).toMatch(/\/properties\/a\/type must be/);
  expect(Math.max(...named.map((name) => name.length))).toBeLessThanOrEqual(64);
  const specs = JSON.stringify(box.specs());
  expect(specs).not.toMatch(/\\u(?:d[89a-f]|0000)/i);
  expect(specs.length).toBeLessThan(6_000);
  expect(await say('web__odd')).toBe('There is no tool of this name.');
  expect(await say('web__echo', { text: 'here' })).toBe('here');
  expect(box.state()).toMatchObject([{ server: 'web', problem: undefined, tools: 2 }]);
  await untilListening(server);
  await server.relist(() => ({ tools: [{ name: 'odd', inputSchema: at({ type: 'string' }) }] }));
  await until('the fixed tool', () => names().includes('web__odd'));
  expect(omitted('web')).toEqual([]);
  expect(JSON.stringify([left, log])).not.toContain(SECRET);
});

test('all tools together stay within toolsCharsMax: descriptions are cut, then the last tools are omitted', async () => {
  const description = '👩‍👩‍👧‍👦'.repeat(300);
  const tools = [0, 1, 2].map((at) => ({ name: `t${at}`, description, inputSchema: { type: 'object' } }));
  const { box, names, omitted } = await webToolbox({ list: () => ({ tools }) }, { toolsCharsMax: 800 });
  expect(names()).toEqual(['web__t0', 'web__t1']);
  for (const spec of box.specs()) expect(spec.description).toMatch(/^(?:👩‍👩‍👧‍👦)+…$/u);
  expect(omitted('web').map(({ tool }) => tool)).toEqual(['web__t2']);
});

test('of a process whose input closes before it ends, what it said is told', async () => {
  const words = 'exec 0<&-; sleep 0.1; echo "error: the key is missing" >&2; echo "at line 3" >&2; exit 3';
  const server = { ...(await stdioServer('a')), command: 'sh', args: ['-c', words] };
  const { box } = await startToolbox([server]);
  expect(box.state()[0]?.problem).toBe('its process ended; it said: error: the key is missing');
});

test('patterns of a server are never run: neither on what is sent to its tools nor on what they answer', async () => {
  const words = `${'a'.repeat(40)}!`;
  const hostile = { type: 'object', properties: { words: { type: 'string', pattern: '^(a|a)*$' } } };
  const list: ListTools = () => ({ tools: [{ name: 'trap', inputSchema: hostile, outputSchema: hostile }] });
  const { box, call } = await webToolbox({
    list,
    tools: { trap: () => ({ content: [], structuredContent: { words } }) },
  });
  // Against these words the pattern takes hours.
  expect(await call('web__trap', { words })).toEqual({
    parts: [{ type: 'text', text: JSON.stringify({ words }) }],
    isError: false,
  });
  // The model is told of it all the same.
  expect(box.specs()[0]?.inputSchema).toEqual(hostile);
});

const TOO_LARGE = /more than 200000 bytes/;
const head = (response: ServerResponse, type = 'application/json') => response.writeHead(200, { 'content-type': type });
const pings = Array.from({ length: 50_000 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
let written = 0;

function pourWithoutEnd(response: ServerResponse): void {
  head(response, 'text/event-stream');
  const more = () => {
    while (!response.destroyed && written < 500_000_000) {
      written += 65_536;
      if (!response.write('x'.repeat(65_536))) return void response.once('drain', more);
    }
  };
  more();
}

test.each<[string, RegExp, { json?: boolean; pour?: (response: ServerResponse) => unknown }]>([
  ['is too large, as plain JSON,', TOO_LARGE, { json: true }],
  ['is too large, as a stream,', TOO_LARGE, {}],
  ['never ends', TOO_LARGE, { pour: pourWithoutEnd }],
  ['is a list of many messages', /a list of messages/, { pour: (to) => head(to).end(`\n ${JSON.stringify(pings)}`) }],
])('an answer that %s is not read to its end; its connection is opened again', async (_, why, { pour, ...options }) => {
  const { server, serves, say } = await webToolbox(options, { messageBytesMax: 200_000 });
  if (pour) server.pour(pour);
  const input = pour ? { text: 'pour' } : { chars: 3_000_000 };
  const answer = await say(pour ? 'web__echo' : 'web__big', input);
  expect(answer).toMatch(/server was cut off .* during the call; it may or may not/);
  expect(answer).toMatch(why);
  expect(written).toBeLessThan(100_000_000);
  await serves('web');
  if (!pour) expect(await say('web__big', { chars: 150_000 })).toHaveLength(150_000);
  expect(server.sessions()).toBe(1);
});

test('an unsolicited message that is too large closes the connection, which is opened again', async () => {
  const { server, serves, log } = await webToolbox({}, { messageBytesMax: 200_000 });
  await untilListening(server);
  await server.shout(1_000_000);
  await until('it is logged', () => log.some(({ reason }) => TOO_LARGE.test(String(reason))));
  await serves('web');
});

test('a tool list that is too large makes its server unavailable, with the size as the reason', async () => {
  const { box, names } = await webToolbox(
    { list: () => ({ tools: [{ name: 'x', description: 'x'.repeat(500_000) }] }) },
    { messageBytesMax: 200_000 },
  );
  expect(names()).toEqual([]);
  expect(box.state()[0]?.problem).toMatch(/more than 200000 bytes/);
});

test('a child starts in a private folder of its own, kept by a restart, removed by the stop; a configured one stays as it is', async () => {
  const parent = await ownFolder();
  const cwd = join(parent, 'own');
  await mkdir(cwd, { mode: 0o755 });
  const { say, box, serves } = await startToolbox([
    await stdioServer('a'),
    await stdioServer('b'),
    { ...(await stdioServer('c')), cwd },
    { ...(await stdioServer('d')), cwd: join(parent, 'missing') },
  ]);
  const folders = await Promise.all(['a', 'b', 'c'].map(async (name) => JSON.parse(await say(`${name}__folder`))));
  const own = { cwd: expect.stringContaining('spillway-mcp-'), files: [], mode: 0o700 };
  expect(folders).toEqual([own, own, { cwd, files: [], mode: 0o755 }]);
  const [a, b] = folders;
  expect(a.cwd).not.toBe(b.cwd);
  expect(box.state()[3]?.problem).toMatch(/ENOENT/);
  for (const name of ['a', 'c']) await say(`${name}__leave`);
  await say('a__crash');
  await serves('a');
  expect(JSON.parse(await say('a__folder'))).toMatchObject({ cwd: a.cwd, files: ['left-behind'] });
  await box.stop();
  for (const { cwd: gone } of [a, b]) await expect(stat(gone)).rejects.toMatchObject({ code: 'ENOENT' });
  expect((await stat(join(cwd, 'left-behind'))).isFile()).toBe(true);
});

test('a link whose program cannot have its folder is never ready, and can be closed', async () => {
  const settings = { folder: '/dev/null/in', sandbox: { kind: 'none', why: 'a test' } as const, onStderr: () => {} };
  const link = new Link(await stdioServer('a'), { ...LIMITS, timeoutMs: 1 }, settings);
  await expect(link.ready).rejects.toThrow(/ENOTDIR/);
  await link.close();
});
