import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CONSTANTS, type Role } from '../../../../shared/base/settings.ts';
import { GATEWAY, problemsOf, settingsOf, warningsOf } from '../../../fixture/settings.ts';
import { forAll } from '../../../fixture/texts.ts';

const WEBHOOK = {
  TELEGRAM_WEBHOOK_URL: 'https://example.org/hook',
  TELEGRAM_WEBHOOK_SECRET: 'a_webhook_secret_of_some_length_1234',
};
const POSITIVE =
  'MAX_OUTPUT_TOKENS CONTEXT_WINDOW_TOKENS CONTEXT_BUDGET_TOKENS MODEL_IDLE_TIMEOUT_MS OUTAGE_PATIENCE_MS SHARDS WORKER_CONCURRENCY TURN_TIMEOUT_MS UNANSWERED_ALERT_MS'.split(
    ' ',
  );
const MONEY = ['CHAT', 'PERSON', 'TOTAL'].flatMap((whose) => [`${whose}_MONTHLY_USD`, `${whose}_DAILY_USD`]);
/** Every variable that has a form of its own, with a value that does not have it. */
const MALFORMED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(POSITIVE.map((name) => [name, '1e3'])),
  ...Object.fromEntries(MONEY.map((name) => [name, '$5'])),
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

const namesIn = (problems: readonly string[]) => problems.map((problem) => problem.split(' ')[0]).sort();

test('reports all problems at once, each once and by the name of its variable', () => {
  expect(namesIn(problemsOf(MALFORMED))).toEqual([...Object.keys(MALFORMED), 'ANTHROPIC_API_KEY'].sort());
});

test('accepts a valid environment, and treats an empty value as unset', () => {
  const settings = settingsOf({
    ...GATEWAY,
    SHARDS: '',
    WORKER_CONCURRENCY: '  ',
    REDIS_URL: '',
    LOG_LEVEL: undefined,
  });
  expect(settings).toMatchObject({ SHARDS: 1, WORKER_CONCURRENCY: 16, LOG_LEVEL: 'info', LOG_CONTENT: false });
  expect([settings.REDIS_URL, warningsOf(GATEWAY)]).toEqual([undefined, []]);
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

test('a problem names the malformed variable and never quotes its value', () => {
  const secrets = fc.stringMatching(/^[!-~]{8,40}$/);
  forAll([fc.constantFrom(...Object.keys(MALFORMED)), secrets], (name, secret) => {
    const problems = problemsOf({ ...GATEWAY, ...WEBHOOK, [name]: secret });
    expect(problems.filter((problem) => problem.includes(secret))).toEqual([]);
    expect(namesIn(problems).filter((each) => each !== name)).toEqual([]);
  });
  const withPassword = problemsOf({ ...GATEWAY, REDIS_URL: 'reddis://user:hunter2secret@host' });
  expect(withPassword).toEqual([expect.stringMatching(/^REDIS_URL is malformed: expected redis:(?!.*hunter2)/s)]);
});

test('an open bot needs an explicit * in TELEGRAM_ALLOWED_IDS, and causes a warning', () => {
  expect(settingsOf({}, 'tool').TELEGRAM_ALLOWED_IDS).toEqual(new Set());
  const open = { ...GATEWAY, TELEGRAM_ALLOWED_IDS: '1001,*' };
  expect(settingsOf(open).TELEGRAM_ALLOWED_IDS).toBe('everyone');
  expect(warningsOf(open)).toEqual([expect.stringMatching(/^TELEGRAM_ALLOWED_IDS is \*: anybody/)]);
});

test.each([
  ['TELEGRAM_WEBHOOK_URL', 'TELEGRAM_WEBHOOK_SECRET'],
  ['TELEGRAM_WEBHOOK_SECRET', 'TELEGRAM_WEBHOOK_URL'],
] as const)('with %s alone gateway and producer miss %s, and no other role does', (one, other) => {
  const alone = { ...GATEWAY, [one]: WEBHOOK[one] };
  const missing = [expect.stringMatching(new RegExp(`^${other} is required: .*${one} is set`))];
  const roles: readonly Role[] = ['gateway', 'producer', 'worker', 'tool'];
  expect(roles.map((role) => problemsOf(alone, role))).toEqual([missing, missing, [], []]);
  expect(problemsOf({ ...alone, [other]: ' ' })).toHaveLength(1);
});

test.each([
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }, [/^OTEL_EXPORTER_OTLP_HEADERS: nothing is exported without/]],
  [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://c:4318' }, [/^OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: logs are not exported/]],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces', OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }, []],
  [{ OTEL_METRICS_EXPORTER: 'none' }, []],
])('settings of an exporter without an effect are named: %j', (set, expected) => {
  expect(warningsOf({ ...GATEWAY, ...set })).toEqual(expected.map((words) => expect.stringMatching(words)));
});

test.each(Object.entries(CONSTANTS))('%s is %s, whatever an old .env says of it', (name, value) => {
  const env = { ...GATEWAY, [name]: 'anything' };
  expect(settingsOf(env)).toMatchObject({ [name]: value });
  expect(warningsOf(env)).toEqual([`${name} is set, but has no effect: it is always ${value}`]);
});

test.each<[string, Record<string, string>, string[]]>([
  ['a URL alone', { TRANSCRIPTION_BASE_URL: 'https://example.org/v1' }, ['TRANSCRIPTION_MODEL']],
  ['a model alone', { TRANSCRIPTION_MODEL: 'whisper-1' }, ['TRANSCRIPTION_BASE_URL']],
  ['a key alone', { TRANSCRIPTION_API_KEY: 'k' }, ['TRANSCRIPTION_BASE_URL', 'TRANSCRIPTION_MODEL']],
  ['a URL and a model', { TRANSCRIPTION_BASE_URL: 'http://127.0.0.1:9/v1', TRANSCRIPTION_MODEL: 'whisper-1' }, []],
])('for speech, %s lacks what is named', (_, over, missing) => {
  const problems = missing.map((name) => expect.stringMatching(new RegExp(`^${name} is required: `)));
  expect(problemsOf({ ...GATEWAY, ...over })).toEqual(problems);
  expect(problemsOf({ ...GATEWAY, ...over }, 'producer')).toEqual([]);
});
