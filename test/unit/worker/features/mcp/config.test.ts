import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type McpServer, readMcpConfig, SERVER_LIMITS, scrubberOf } from '../../../../../worker/features/mcp/config.ts';
import { UNASKED } from '../../../../fixture/mcp-toolbox.ts';
import { forAll, forCases, rawTexts } from '../../../../fixture/texts.ts';

function problemsOf(mcpServers: unknown): readonly string[] {
  const reading = readMcpConfig(JSON.stringify({ mcpServers }));
  return reading.ok ? [] : reading.problems;
}

test('refuses a text that is not a configuration, without quoting it', () => {
  for (const json of ['', '{', 'hunter2secret', '{"mcpServers": hunter2secret}', '\ud800'])
    expect(readMcpConfig(json)).toEqual({ ok: false, problems: ['the MCP configuration is not JSON'] });
  const problems = [expect.stringMatching(/^the MCP configuration: (?!.*hunter2).*expected/)];
  for (const json of ['null', '[]', '7', '"hunter2secret"', '{}', '{"mcpServers": []}', '{"servers": {}}'])
    expect(readMcpConfig(json)).toEqual({ ok: false, problems });
});

test.each<[string, object | unknown[], string[]]>([
  ['files', { command: '', args: ['ok', 7], cwd: '' }, ['command: expected', 'args.1: expected', 'cwd: expected']],
  ['files', { command: 'x', env: { PORT: 3000, 'A=B': 'x', FINE: 'x' } }, ['env.PORT: expected', 'env.A=B: expected']],
  ['files', { command: 'x', env: { NUL: 'a\0b' } }, ['env.NUL: expected']],
  [
    'web',
    { url: 'ftp://example.org', headers: { 'X Y': 'a', Good: 'a\nb', Number: 1 } },
    ['url: expected', 'headers.X Y: expected', 'headers.Good: expected', 'headers.Number: expected'],
  ],
  ['gone', { type: 'sse', url: 'https://example.org/sse' }, ['type: the transport "sse" is not supported']],
  ['odd', { type: 'websocket', url: 'https://example.org' }, ['type: expected']],
  ['both', { command: 'x', url: 'https://example.org' }, ['expected']],
  ['none', { env: {} }, ['expected']],
  ['list', [], ['expected']],
  ['', { command: 'x' }, ['expected']],
  ['late', { command: 'x', disabled: 'yes' }, ['disabled: expected']],
  ['a', { type: 'http', command: 'x' }, ['type: expected "stdio"']],
  ['a', { type: 'stdio', url: 'http://h' }, ['type: expected "http"']],
  ['a', { type: 'stdio' }, ['command: expected a string']],
  ['a', { type: 'http' }, ['url: expected an http']],
  [
    'a',
    { command: 'x', approve: 'yes', guests: 1, tools: { t: 'no' } },
    [
      'approve: expected "never", "write" or "always"',
      'guests: expected true or false',
      'tools.t: expected "never", "write", "always" or "off"',
    ],
  ],
  [
    'a',
    { url: 'http://h', limits: { messages: 0, memoryMb: '1g', openFiles: 1.5 } },
    [
      'limits.messages: expected a number above 0',
      'limits.memoryMb: expected a whole number',
      'limits.openFiles: expected a whole number',
    ],
  ],
  ['web', { url: 'https://user:hunter2@example.org' }, ['url: expected a URL without user name and password']],
])('of the server "%s" as %j all problems are named, by field, and those of all others', (name, server, problems) => {
  const named = problems.map((problem) => expect.stringContaining(`MCP server "${name}": ${problem}`));
  const also = expect.stringContaining('MCP server "worse": command: expected');
  expect(problemsOf({ [name]: server, sound: { command: 'x' }, worse: { command: '' } })).toEqual([...named, also]);
});

test.each<[object, Partial<McpServer> | undefined]>([
  [
    { command: 'npx', args: ['-y'], env: { ROOT: '/srv' }, cwd: '/tmp', alwaysAllow: ['x'], timeout: 5 },
    { kind: 'stdio', command: 'npx', args: ['-y'], env: { ROOT: '/srv' }, cwd: '/tmp' },
  ],
  // Variables are not expanded.
  [
    { command: '$HOME', type: 'stdio', env: { X: '$HOME' } },
    { kind: 'stdio', command: '$HOME', args: [], env: { X: '$HOME' } },
  ],
  [{ command: 7, disabled: true }, undefined],
  [
    { url: 'https://example.org/mcp?x=1', type: 'streamable-http', headers: { Authorization: 'Bearer x' } },
    { kind: 'http', url: 'https://example.org/mcp?x=1', headers: { Authorization: 'Bearer x' } },
  ],
  [
    { url: 'http://127.0.0.1:1', type: 'http', disabled: false },
    { kind: 'http', url: 'http://127.0.0.1:1', headers: {} },
  ],
  [
    {
      url: 'http://h',
      approve: 'always',
      guests: true,
      tools: { look: 'never', format: 'off' },
      limits: { messages: 20, openFiles: 7 },
    },
    {
      ...{ kind: 'http', url: 'http://h', headers: {}, approve: 'always', guests: true },
      ...{ tools: { look: 'never', format: 'off' }, limits: { ...SERVER_LIMITS, messages: 20, openFiles: 7 } },
    },
  ],
])('reads %j with its defaults', (given, server) => {
  const policy = { approve: 'write', guests: false, tools: {}, limits: SERVER_LIMITS };
  const last = { kind: 'stdio', name: 'last', command: 'y', args: [], env: {}, ...policy };
  const reading = readMcpConfig(JSON.stringify({ mcpServers: { first: given, last: { command: 'y' } } }));
  const servers = server === undefined ? [last] : [{ name: 'first', ...policy, ...server }, last];
  expect(reading).toEqual({ ok: true, servers, names: ['first', 'last'] });
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
    (value) => ({ url: `https://user:${encodeURIComponent(value)}@example.org` }),
    (value) => ({ url: 'http://h', type: value }),
    (value) => ({ url: 'http://h', headers: { KEY: `${value}\n` } }),
    (value) => ({ url: 'http://h', headers: [value] }),
    (value) => ({ type: value }),
    (value) => value,
  ];
  forAll([secret, fc.constantFrom(...wrongs)], (value, wrong) => {
    const problems = problemsOf({ server: wrong(value) });
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join()).not.toContain(value.slice(0, 6));
  });
});

test('readMcpConfig never throws on any JSON, and fetch accepts the headers that it returns', () => {
  const loose = (own: fc.Arbitrary<unknown>) => fc.oneof(own, fc.jsonValue());
  const entry = {
    command: loose(rawTexts()),
    args: loose(fc.array(rawTexts())),
    env: loose(fc.dictionary(rawTexts(), rawTexts())),
    url: fc.oneof(rawTexts(), fc.webUrl(), fc.jsonValue()),
    headers: loose(fc.dictionary(rawTexts(), rawTexts())),
    type: fc.constantFrom('stdio', 'http', 'sse', 7),
    disabled: loose(fc.boolean()),
  };
  forCases(60, [fc.dictionary(rawTexts(), loose(fc.record(entry, { requiredKeys: [] })))], (servers) => {
    const reading = readMcpConfig(JSON.stringify({ mcpServers: servers }));
    if (!reading.ok) expect(reading.problems.length).toBeGreaterThan(0);
    // What is read can be used: a value that fetch or spawn refuses would be quoted in their errors.
    else for (const server of reading.servers) if (server.kind === 'http') new Headers({ ...server.headers });
  });
});

const scrubberFor = (env: Record<string, string>) =>
  scrubberOf({ kind: 'stdio', name: 'a', command: 'x', args: [], ...UNASKED, env });
const KEY = '-----BEGIN X-----\nline-one-of-key\nline-two-of-key\n-----END X-----';
const child = () => scrubberFor({ K: 'pa"ss word!', P: KEY, N: '1' });
const web = () =>
  scrubberOf({
    ...{ kind: 'http', name: 'a', ...UNASKED, url: 'https://example.org/s/0123456789abcdef0/mcp?key=tooshorthere' },
    headers: { Authorization: 'Bearer abc.def-ghi', 'X-Key': 'my-own-secret' },
  });

test.each([
  ...['pa"ss word!', 'pa\\"ss word!', 'pa%22ss%20word!', 'line-two-of-key', KEY, KEY.replaceAll('\n', '\\n')].map(
    (leak) => [leak, child] as const,
  ),
  ...['Bearer abc.def-ghi', 'abc.def-ghi', 'my-own-secret', '0123456789abcdef0', 'key=tooshorthere'].map(
    (leak) => [leak, web] as const,
  ),
  ['sk-ant-abcdefghijkl', web] as const,
])('scrubberOf replaces the secrets of a server in a text, in every encoding: %j', (leak, scrubber) => {
  const shown = scrubber()(`before ${leak} after 1`);
  expect(shown).toMatch(/^before .*\[secret\].* after 1$/s);
  expect(shown).not.toMatch(/word|line-two|abc|own|456|tooshort/);
});

test('a scrubber replaces the longest secret first, never throws, and removes any of 8 or more characters', () => {
  const nested = scrubberFor({ A: 'one-part', B: 'one-part-of-it' });
  expect(nested('one-part-of-it and one-part')).toBe('[secret] and [secret]');
  expect(web()('see https://example.org for help')).toBe('see https://example.org for help');
  forAll([rawTexts(), rawTexts()], (secret, text) => {
    const shown = scrubberFor({ KEY: secret })(text + secret);
    if (secret.trim().length >= 8) expect(shown).not.toContain(secret.trim());
  });
});
