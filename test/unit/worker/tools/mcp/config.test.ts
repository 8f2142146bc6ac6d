import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type McpServer, readMcpConfig, SERVER_LIMITS } from '../../../../../worker/features/mcp/config.ts';
import { rawTexts, SEEDED } from '../../../../fixture/texts.ts';

function problemsOf(mcpServers: unknown): readonly string[] {
  const reading = readMcpConfig(JSON.stringify({ mcpServers }));
  return reading.ok ? [] : reading.problems;
}

function serversOf(mcpServers: unknown): readonly McpServer[] {
  const reading = readMcpConfig(JSON.stringify({ mcpServers }));
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.servers;
}

test('refuses a text that is not a configuration, without quoting it', () => {
  for (const json of ['', '{', 'hunter2secret', '{"mcpServers": hunter2secret}', '\ud800']) {
    expect(readMcpConfig(json)).toEqual({ ok: false, problems: ['the MCP configuration is not JSON'] });
  }
  for (const json of ['null', '[]', '7', '"hunter2secret"', '{}', '{"mcpServers": []}', '{"servers": {}}']) {
    const reading = readMcpConfig(json);
    expect(reading).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/^the MCP configuration: .*expected/)],
    });
    expect(JSON.stringify(reading)).not.toContain('hunter2');
  }
});

test('reports all problems of all servers at once, each by server and field', () => {
  const problems = problemsOf({
    files: { command: '', args: ['ok', 7], env: { PORT: 3000, 'A=B': 'x', FINE: 'x', NUL: 'a\0b' }, cwd: '' },
    web: { url: 'ftp://example.org', headers: { 'X Y': 'a', Good: 'a\nb', Number: 1 } },
    gone: { type: 'sse', url: 'https://example.org/sse' },
    odd: { type: 'websocket', url: 'https://example.org' },
    both: { command: 'x', url: 'https://example.org' },
    none: { env: {} },
    list: [],
    late: { command: 'x', disabled: 'yes' },
    '': { command: 'x' },
  });
  const places = problems.map((problem) =>
    /^MCP server ("[^"]*"): (?:([\w.= ]+): )?/.exec(problem)?.slice(1).join(' '),
  );
  expect(places.sort()).toEqual(
    [
      '"files" command',
      '"files" args.1',
      '"files" env.PORT',
      '"files" env.A=B',
      '"files" env.NUL',
      '"files" cwd',
      '"web" url',
      '"web" headers.X Y',
      '"web" headers.Good',
      '"web" headers.Number',
      '"gone" type',
      '"odd" type',
      '"both" ',
      '"none" ',
      '"list" ',
      '"late" disabled',
      '"" ',
    ].sort(),
  );
  for (const problem of problems) expect(problem).toMatch(/expected|"sse" is not supported/);
});

test('reads valid servers in the order of the file, with empty defaults, and skips disabled ones', () => {
  const limits = { messages: 20, processes: 50, memoryMb: 256, openFiles: 100 };
  const servers = serversOf({
    files: {
      command: 'npx',
      args: ['-y', 'files'],
      env: { ROOT: '/srv' },
      cwd: '/tmp',
      alwaysAllow: ['x'],
      timeout: 5,
    },
    plain: {
      command: 'x',
      type: 'stdio',
      approve: 'always',
      guests: true,
      tools: { look: 'never', format: 'off' },
      limits,
    },
    off: { command: 7, disabled: true },
    web: { url: 'https://example.org/mcp?x=1', type: 'streamable-http', headers: { Authorization: 'Bearer x' } },
    local: { url: 'http://127.0.0.1:1', type: 'http', disabled: false },
    bare: { url: 'http://127.0.0.1:2', limits: { messages: 20 } },
  });
  const policy = { approve: 'write', guests: false, tools: {}, limits: SERVER_LIMITS };
  const asked = { approve: 'always', guests: true, tools: { look: 'never', format: 'off' }, limits };
  expect(servers).toEqual([
    {
      kind: 'stdio',
      name: 'files',
      command: 'npx',
      args: ['-y', 'files'],
      env: { ROOT: '/srv' },
      cwd: '/tmp',
      ...policy,
    },
    { kind: 'stdio', name: 'plain', command: 'x', args: [], env: {}, ...asked },
    {
      kind: 'http',
      name: 'web',
      url: 'https://example.org/mcp?x=1',
      headers: { Authorization: 'Bearer x' },
      ...policy,
    },
    { kind: 'http', name: 'local', url: 'http://127.0.0.1:1', headers: {}, ...policy },
    {
      kind: 'http',
      name: 'bare',
      url: 'http://127.0.0.1:2',
      headers: {},
      ...policy,
      limits: { ...SERVER_LIMITS, messages: 20 },
    },
  ]);
  expect(serversOf({})).toEqual([]);
});

test('refuses policies that there are not, and limits that are no whole numbers above 0', () => {
  expect(problemsOf({ a: { command: 'x', approve: 'yes', guests: 1, tools: { t: 'no' } } })).toEqual([
    expect.stringMatching(/"a": approve: expected "never", "write" or "always"/),
    expect.stringMatching(/"a": guests: expected true or false/),
    expect.stringMatching(/"a": tools\.t: expected "never", "write", "always" or "off"/),
  ]);
  expect(problemsOf({ a: { url: 'http://h', limits: { messages: 0, memoryMb: '1g', openFiles: 1.5 } } })).toEqual([
    expect.stringMatching(/"a": limits\.messages: expected a number above 0/),
    expect.stringMatching(/"a": limits\.memoryMb: expected a whole number/),
    expect.stringMatching(/"a": limits\.openFiles: expected a whole number/),
  ]);
});

test('does not expand variables in a command or its environment', () => {
  const environment = '$' + '{HOME}';
  expect(serversOf({ a: { command: environment, env: { X: environment } } })).toMatchObject([
    { command: environment, env: { X: environment } },
  ]);
});

test('refuses a type that does not fit the other fields', () => {
  expect(problemsOf({ a: { type: 'http', command: 'x' } })).toEqual([
    expect.stringMatching(/"a": type: expected "stdio"/),
  ]);
  expect(problemsOf({ a: { type: 'stdio', url: 'http://h' } })).toEqual([
    expect.stringMatching(/"a": type: expected "http"/),
  ]);
  expect(problemsOf({ a: { type: 'stdio' } })).toEqual([expect.stringMatching(/"a": command: expected a string/)]);
  expect(problemsOf({ a: { type: 'http' } })).toEqual([expect.stringMatching(/"a": url: expected an http/)]);
  expect(problemsOf({ a: { type: 'sse', url: 'http://h' } })).toEqual([
    expect.stringMatching(/"sse" is not supported/),
  ]);
});

test('refuses a URL with a user name or password, without quoting it', () => {
  for (const url of ['https://user:hunter2secret@example.org', 'https://hunter2secret@example.org']) {
    const problems = problemsOf({ web: { url } });
    expect(problems).toEqual([expect.stringMatching(/"web": url: expected a URL without user name and password/)]);
    expect(problems.join()).not.toContain('hunter2');
  }
});

test('no problem quotes a value, in any field', () => {
  const secret = fc.stringMatching(/^Zq[!-~]{10,30}$/);
  const wrongs: ((value: string) => unknown)[] = [
    (value) => ({ command: [value] }),
    (value) => ({ command: `${value}\0` }),
    (value) => ({ command: 'x', args: value }),
    (value) => ({ command: 'x', args: [{ value }] }),
    (value) => ({ command: 'x', env: { KEY: [value] } }),
    (value) => ({ command: 'x', env: { KEY: `${value}\0` } }),
    (value) => ({ command: 'x', env: value }),
    (value) => ({ command: 'x', cwd: [value] }),
    (value) => ({ command: 'x', disabled: value }),
    (value) => ({ command: 'x', type: value }),
    (value) => ({ url: value }),
    (value) => ({ url: 'http://h', type: value }),
    (value) => ({ url: 'http://h', headers: { KEY: `${value}\n` } }),
    (value) => ({ url: 'http://h', headers: [value] }),
    (value) => ({ type: value }),
    (value) => value,
  ];
  fc.assert(
    fc.property(secret, fc.constantFrom(...wrongs), (value, wrong) => {
      const problems = problemsOf({ server: wrong(value) });
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join()).not.toContain(value.slice(0, 6));
    }),
    SEEDED,
  );
});

test('readMcpConfig never throws on any JSON, and fetch accepts the headers that it returns', () => {
  const entries = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        command: fc.oneof(rawTexts(), fc.jsonValue()),
        args: fc.oneof(fc.array(rawTexts()), fc.jsonValue()),
        env: fc.oneof(fc.dictionary(rawTexts(), rawTexts()), fc.jsonValue()),
        url: fc.oneof(rawTexts(), fc.webUrl(), fc.jsonValue()),
        headers: fc.oneof(fc.dictionary(rawTexts(), rawTexts()), fc.jsonValue()),
        type: fc.constantFrom('stdio', 'http', 'sse', 7),
        disabled: fc.oneof(fc.boolean(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    ),
  );
  fc.assert(
    fc.property(fc.dictionary(rawTexts(), entries), (servers) => {
      const reading = readMcpConfig(JSON.stringify({ mcpServers: servers }));
      if (!reading.ok) expect(reading.problems.length).toBeGreaterThan(0);
      // What is read can be used: a value that fetch or spawn refuses would be quoted in their errors.
      else for (const server of reading.servers) if (server.kind === 'http') new Headers({ ...server.headers });
    }),
    { ...SEEDED, numRuns: 60 },
  );
});
