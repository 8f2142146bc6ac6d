import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CONSTANTS, type Role, readSettings, type Settings } from '../../../../shared/base/settings.ts';
import { rawTexts, SEEDED } from '../../../fixture/texts.ts';

const GATEWAY = {
  TELEGRAM_BOT_TOKEN: '123456:AAE-good_token',
  TELEGRAM_ALLOWED_IDS: '1001,-1002',
  TELEGRAM_ALERT_CHAT_ID: '9001',
  ANTHROPIC_API_KEY: 'sk-ant-good',
};
const POSITIVE = [
  'MAX_OUTPUT_TOKENS',
  'CONTEXT_WINDOW_TOKENS',
  'CONTEXT_BUDGET_TOKENS',
  'MODEL_IDLE_TIMEOUT_MS',
  'OUTAGE_PATIENCE_MS',
  'SHARDS',
  'WORKER_CONCURRENCY',
  'TURN_TIMEOUT_MS',
  'UNANSWERED_ALERT_MS',
];
const WEBHOOK = {
  TELEGRAM_WEBHOOK_URL: 'https://example.org/hook',
  TELEGRAM_WEBHOOK_SECRET: 'a_webhook_secret_of_some_length_1234',
};
/** Every variable that has a form of its own, with a value that does not have it. */
const MALFORMED: Record<string, string> = {
  ...Object.fromEntries(POSITIVE.map((name) => [name, '1e3'])),
  TELEGRAM_BOT_TOKEN: 'not-a-token',
  TELEGRAM_API_ROOT: 'ftp://example.org',
  TELEGRAM_ALLOWED_IDS: '1001,bob',
  TELEGRAM_ALERT_CHAT_ID: 'ops',
  TELEGRAM_WEBHOOK_URL: 'http://example.org/hook',
  TELEGRAM_WEBHOOK_SECRET: 'two words',
  ANTHROPIC_BASE_URL: 'api.anthropic.com',
  REDIS_URL: 'http://localhost',
  REDIS_CLUSTER_NODES: 'localhost',
  HTTP_PORT: '65536',
  LOG_LEVEL: 'loud',
  LOG_CONTENT: 'yes',
  WEB_SEARCH: 'on',
  WEB_FETCH: '1',
  EFFORT: 'utmost',
  TZ: 'Mars/Olympus',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318',
  DEADMAN_URL: 'https://user:word@example.org/alive',
  SPILLWAY_FAIL_AT: 'answer stored',
};

function problemsOf(env: Record<string, string | undefined>, role: Role = 'gateway'): string[] {
  const reading = readSettings(env, role);
  return reading.ok ? [] : reading.problems;
}

function settingsOf(env: Record<string, string | undefined>, role: Role = 'gateway'): Settings {
  const reading = readSettings(env, role);
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.settings;
}

function warningsOf(env: Record<string, string | undefined>): string[] {
  const reading = readSettings(env, 'gateway');
  return reading.ok ? reading.warnings : ['not read at all'];
}

const namesIn = (problems: readonly string[]) => problems.map((problem) => problem.split(' ')[0]).sort();

test('reports all problems at once, each once and by the name of its variable', () => {
  expect(namesIn(problemsOf(MALFORMED))).toEqual([...Object.keys(MALFORMED), 'ANTHROPIC_API_KEY'].sort());
});

test('accepts a valid environment, and treats an empty value as unset', () => {
  const set = { SHARDS: '', WORKER_CONCURRENCY: '  ', REDIS_URL: '', LOG_LEVEL: undefined };
  const settings = settingsOf({ ...GATEWAY, ...set });
  expect(settings).toMatchObject({ SHARDS: 1, WORKER_CONCURRENCY: 16, LOG_LEVEL: 'info', LOG_CONTENT: false });
  expect(settings.REDIS_URL).toBeUndefined();
  expect(warningsOf(GATEWAY)).toEqual([]);
});

test.each<[Role, string[]]>([
  ['gateway', ['ANTHROPIC_API_KEY', 'TELEGRAM_ALERT_CHAT_ID', 'TELEGRAM_ALLOWED_IDS', 'TELEGRAM_BOT_TOKEN']],
  ['producer', ['TELEGRAM_ALLOWED_IDS', 'TELEGRAM_BOT_TOKEN']],
  ['worker', ['ANTHROPIC_API_KEY', 'TELEGRAM_ALERT_CHAT_ID', 'TELEGRAM_BOT_TOKEN']],
  ['tool', []],
])('the role %s requires exactly its own variables', (role, required) => {
  expect(namesIn(problemsOf({}, role))).toEqual(required);
  expect(namesIn(problemsOf(Object.fromEntries(required.map((name) => [name, ' '])), role))).toEqual(required);
  const own = Object.fromEntries(Object.entries(GATEWAY).filter(([name]) => required.includes(name)));
  expect(problemsOf(own, role)).toEqual([]);
});

test.each(POSITIVE)('%s refuses zero, a sign, a fraction, an exponent, a word and padding', (name) => {
  for (const value of ['0', '-1', '+1', '1.5', 'abc', '1e3', '0x10', '01', '1_000', ' 5', '5 ', '9'.repeat(16), '٣']) {
    expect([value, problemsOf({ ...GATEWAY, [name]: value })]).toEqual([
      value,
      [expect.stringMatching(new RegExp(`^${name} .*expected .*(?:positive integer|milliseconds)`))],
    ]);
  }
  expect(settingsOf({ ...GATEWAY, [name]: '7' })).toMatchObject({ [name]: 7 });
});

test('refuses a TURN_TIMEOUT_MS that a timer cannot hold (over 2147483647): it would end every turn at once', () => {
  expect(problemsOf({ ...GATEWAY, TURN_TIMEOUT_MS: '2147483648' })).toEqual([
    expect.stringMatching(/^TURN_TIMEOUT_MS /),
  ]);
  expect(settingsOf({ ...GATEWAY, TURN_TIMEOUT_MS: '2147483647' }).TURN_TIMEOUT_MS).toBe(2_147_483_647);
});

test('HTTP_PORT may be 0, for any free port, and at most 65535', () => {
  expect(settingsOf({ ...GATEWAY, HTTP_PORT: '0' }).HTTP_PORT).toBe(0);
  expect(settingsOf({ ...GATEWAY, HTTP_PORT: '65535' }).HTTP_PORT).toBe(65_535);
  for (const value of ['65536', '-1', '80.5', 'http', '999999'])
    expect(namesIn(problemsOf({ ...GATEWAY, HTTP_PORT: value }))).toEqual(['HTTP_PORT']);
});

test('a problem names the malformed variable and never quotes its value', () => {
  const secrets = fc.stringMatching(/^[!-~]{8,40}$/);
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(MALFORMED)), secrets, (name, secret) => {
      const problems = problemsOf({ ...GATEWAY, ...WEBHOOK, [name]: secret });
      expect(problems.filter((problem) => problem.includes(secret))).toEqual([]);
      expect(namesIn(problems).filter((each) => each !== name)).toEqual([]);
    }),
    SEEDED,
  );
  const withPassword = problemsOf({ ...GATEWAY, REDIS_URL: 'reddis://user:hunter2secret@host' }).join('\n');
  expect(withPassword).toMatch(/^REDIS_URL is malformed: expected redis:/);
  expect(withPassword).not.toContain('hunter2');
});

test('TELEGRAM_ALLOWED_IDS takes ids only; an open bot needs an explicit * and causes a warning', () => {
  expect(settingsOf(GATEWAY).TELEGRAM_ALLOWED_IDS).toEqual(new Set([1001, -1002]));
  expect(settingsOf({ ...GATEWAY, TELEGRAM_ALLOWED_IDS: ' 5 , 6 ' }).TELEGRAM_ALLOWED_IDS).toEqual(new Set([5, 6]));
  expect(settingsOf({}, 'tool').TELEGRAM_ALLOWED_IDS).toEqual(new Set());
  for (const value of ['1001,', ',', '1001;1002', '@bob', '1e3', '**', 'everyone', '12345678901234567'])
    expect([value, namesIn(problemsOf({ ...GATEWAY, TELEGRAM_ALLOWED_IDS: value }))]).toEqual([
      value,
      ['TELEGRAM_ALLOWED_IDS'],
    ]);
  const open = { ...GATEWAY, TELEGRAM_ALLOWED_IDS: '1001,*' };
  expect(settingsOf(open).TELEGRAM_ALLOWED_IDS).toBe('everyone');
  expect(warningsOf(open)).toEqual([expect.stringMatching(/^TELEGRAM_ALLOWED_IDS is \*: anybody/)]);
});

test('TELEGRAM_ALERT_CHAT_ID is required: an id, or the word none for no alert chat', () => {
  expect(settingsOf({ ...GATEWAY, TELEGRAM_ALERT_CHAT_ID: 'none' }).TELEGRAM_ALERT_CHAT_ID).toBeUndefined();
  expect(settingsOf(GATEWAY).TELEGRAM_ALERT_CHAT_ID).toBe(9001);
  expect(settingsOf({ ...GATEWAY, TELEGRAM_ALERT_CHAT_ID: '-100200' }).TELEGRAM_ALERT_CHAT_ID).toBe(-100_200);
  expect(problemsOf({ ...GATEWAY, TELEGRAM_ALERT_CHAT_ID: '' })).toEqual([expect.stringMatching(/or none$/)]);
});

test('gateway and producer need both the webhook URL and its secret, and the missing one is named', () => {
  expect(settingsOf({ ...GATEWAY, ...WEBHOOK })).toMatchObject(WEBHOOK);
  expect(warningsOf({ ...GATEWAY, ...WEBHOOK })).toEqual([]);
  for (const [one, other] of [
    ['TELEGRAM_WEBHOOK_URL', 'TELEGRAM_WEBHOOK_SECRET'],
    ['TELEGRAM_WEBHOOK_SECRET', 'TELEGRAM_WEBHOOK_URL'],
  ] as const) {
    for (const role of ['gateway', 'producer'] as const)
      expect(problemsOf({ ...GATEWAY, [one]: WEBHOOK[one] }, role)).toEqual([
        expect.stringMatching(new RegExp(`^${other} is required: .*${one} is set`)),
      ]);
    expect(problemsOf({ ...GATEWAY, ...WEBHOOK, [one]: ' ' })).toHaveLength(1);
    for (const role of ['worker', 'tool'] as const)
      expect(problemsOf({ ...GATEWAY, [one]: WEBHOOK[one] }, role)).toEqual([]);
  }
});

test.each([
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }, [/^OTEL_EXPORTER_OTLP_HEADERS: nothing is exported without/]],
  [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://c:4318' }, [/^OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: logs are not exported/]],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces', OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }, []],
  [{ OTEL_METRICS_EXPORTER: 'none' }, []],
])('settings of an exporter without an effect are named: %j', (set, expected) => {
  expect(warningsOf({ ...GATEWAY, ...set })).toEqual(expected.map((words) => expect.stringMatching(words)));
});

test('TELEGRAM_WEBHOOK_URL is normalised and must be https or loopback, without a health path or credentials', () => {
  const urlOf = (url: string) => settingsOf({ ...GATEWAY, ...WEBHOOK, TELEGRAM_WEBHOOK_URL: url }).TELEGRAM_WEBHOOK_URL;
  expect(urlOf('https://Example.org:443')).toBe('https://example.org/');
  for (const url of ['http://127.0.0.1:8080/hook', 'http://localhost/hook', 'http://[::1]:8080/a?b=c'])
    expect(urlOf(url)).toBe(url);
  for (const value of [
    'http://example.org/hook',
    'http://127.0.0.1.example.org/hook',
    'http://localhost.example.org/hook',
    'https://example.org/healthz',
    'https://example.org/readyz?a=b',
    'https://user:word@example.org/hook',
    'example.org/hook',
    'ftp://example.org/hook',
  ])
    expect([value, namesIn(problemsOf({ ...GATEWAY, ...WEBHOOK, TELEGRAM_WEBHOOK_URL: value }))]).toEqual([
      value,
      ['TELEGRAM_WEBHOOK_URL'],
    ]);
});

test.each<[string, string[]]>([
  ['LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']],
  ['LOG_CONTENT', ['true', 'false']],
])('an unknown %s is refused with a list of the legal values', (name, legal) => {
  const [problem, ...others] = problemsOf({ ...GATEWAY, [name]: 'verbose' });
  expect(others).toEqual([]);
  for (const value of legal) {
    expect(problem).toMatch(new RegExp(`\\b${value}\\b`));
    expect(problemsOf({ ...GATEWAY, [name]: value })).toEqual([]);
  }
});

test.each([
  ['TELEGRAM_WEBHOOK_URL', 'https://example.org/hook'],
  ['TELEGRAM_WEBHOOK_SECRET', 'a_webhook_secret_of_some_length_1234'],
  ['FALLBACK_MODEL', 'claude-haiku-4-5'],
  ['MCP_CONFIG', 'mcp.json'],
  ['REDIS_CLUSTER_NODES', 'a.example.org:7000,b.example.org:7000'],
  ['CHAT_DAILY_TOKENS', '1000'],
  ['TOTAL_DAILY_TOKENS', '1000'],
  ['SESSION_RETENTION_DAYS', '30'],
  ['UNANSWERED_ALERT_MS', '60000'],
  ['DEADMAN_URL', 'https://example.org/alive'],
  ['OPERATOR_TOKEN', 'an_operator_token_of_some_length_1234'],
])('%s is a known variable, and empty it counts as unset', (name, value) => {
  expect(settingsOf({ ...GATEWAY, ...WEBHOOK, [name]: value })).toHaveProperty(name);
  expect(warningsOf({ ...GATEWAY, [name]: ' ' })).toEqual([]);
});

test('readConfig never throws: any environment yields a config or at least one problem', () => {
  const values = fc.oneof(rawTexts(), fc.constantFrom('', ' ', '1', '*', 'none', 'true', '1001'));
  const environments = fc.dictionary(fc.constantFrom(...Object.keys({ ...MALFORMED, ...GATEWAY })), values);
  fc.assert(
    fc.property(environments, fc.constantFrom<Role>('gateway', 'producer', 'worker', 'tool'), (env, role) => {
      const reading = readSettings(env, role);
      if (!reading.ok) expect(reading.problems.length).toBeGreaterThan(0);
      else expect(reading.settings.WORKER_CONCURRENCY).toBeGreaterThan(0);
    }),
    SEEDED,
  );
});

test.each(Object.entries(CONSTANTS))('%s is %s, whatever an old .env says of it', (name, value) => {
  const env = { ...GATEWAY, [name]: 'anything' };
  expect(settingsOf(env)).toMatchObject({ [name]: value });
  expect(warningsOf(env)).toEqual([`${name} is set, but has no effect: it is always ${value}`]);
});

test.each([
  ['SHARDS', '256', '257'],
  ['WORKER_CONCURRENCY', '1000', '1001'],
])('%s is at most %s; %s is refused with a problem that names the variable', (name, most, more) => {
  expect(problemsOf({ ...GATEWAY, [name]: most })).toEqual([]);
  expect(problemsOf({ ...GATEWAY, [name]: more })).toEqual([`${name} is malformed: expected at most ${most}`]);
});
