import { afterEach, expect, test } from '@jest/globals';
import { runFile } from '../../fixture/command.ts';
import { boundOf, type Judged, judgeAll } from '../../live/expectation.ts';
import { EXPECTATIONS } from '../../live/expectations.ts';
import { openLine } from '../../live/line.ts';
import { obeys } from '../../live/obedient.ts';
import { REFUSAL_STRING } from '../../live/talk-expectations.ts';
import { type ClaudeOptions, type ClaudeStandIn, startClaude } from '../../stand-in/claude/server.ts';

const MODEL = 'claude-opus-5-5';
/** As Opus 5.5 is documented; only its window is smaller. */
const LIKE_OPUS: ClaudeOptions = {
  windowTokens: 60_000,
  maxOutputTokens: 128_000,
  thinks: 300,
  bindThinking: true,
  refusesText: new RegExp(REFUSAL_STRING),
};

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function given(options: ClaudeOptions = LIKE_OPUS): Promise<ClaudeStandIn> {
  const claude = await startClaude(options);
  cleanUps.push(() => claude.close());
  claude.react(obeys);
  return claude;
}

async function judged(claude: ClaudeStandIn): Promise<Judged[]> {
  const line = await openLine({ apiKey: 'fake', baseURL: claude.url, model: MODEL });
  cleanUps.push(() => line.close());
  return judgeAll(EXPECTATIONS, line);
}

const differing = (all: readonly Judged[]): string[] =>
  all.filter(({ verdict }) => verdict !== 'ok').map(({ name }) => name);

test('the stand-in meets every expectation about the real endpoint', async () => {
  const all = await judged(await given());
  expect(all.filter(({ verdict }) => verdict !== 'ok')).toEqual([]);
  expect(all.length).toBe(EXPECTATIONS.length);
});

test.each<[string, ClaudeOptions, RegExp[]]>([
  ['a model that does not think', { thinks: 0 }, [/thinking comes signed/, /may be left out/, /edited message/]],
  ['a model that does not bind its thinking', { bindThinking: false }, [/edited message/]],
  ['an endpoint without limits', { limits: 'null' }, [/models endpoint/]],
  ['an endpoint without a models call', { servesModels: false }, [/models endpoint/]],
  ['a cache that keeps nothing', { cache: { minTokens: 1_000_000 } }, [/written to the cache/, /an hour/]],
  ['a model that refuses nothing', { refusesText: /nobody says this/ }, [/test string/]],
])('reports what differs: %s', async (_, options, expected) => {
  const names = differing(await judged(await given({ ...LIKE_OPUS, ...options })));
  for (const name of expected) expect(names).toContainEqual(expect.stringMatching(name));
  expect(names.length).toBeLessThanOrEqual(expected.length + 1);
});

test('expectations that an overloaded endpoint does not answer are not run, neither met nor different', async () => {
  const claude = await given();
  claude.react(({ pendingText }) =>
    pendingText === 'Hello' || pendingText.includes('pong')
      ? { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' }
      : undefined,
  );
  const troubled = (await judged(claude)).filter(({ isProven }) => !isProven);
  expect(troubled.map(({ verdict }) => verdict)).toEqual(['not run', 'not run', 'not run']);
  expect(troubled[0]?.seen).toMatch(/in trouble: transient\/overloaded/);
});

test('all calls stay within the number and the cost that boundOf states', async () => {
  const claude = await given();
  const line = await openLine({ apiKey: 'fake', baseURL: claude.url, model: MODEL });
  cleanUps.push(() => line.close());
  const bound = boundOf(EXPECTATIONS, MODEL, await line.limits());
  await judgeAll(EXPECTATIONS, line);
  expect(claude.calls.length).toBeLessThanOrEqual(bound.calls);
  expect(line.spent().usd).toBeCloseTo(claude.usd(), 6);
  expect(claude.usd()).toBeLessThan(bound.usd ?? 0);
});

test('without a key prints one sentence and exits 2', async () => {
  const { code, stdout, stderr } = await runFile('test/live/main.ts', [], {});
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe('ANTHROPIC_API_KEY is not set, so there is no endpoint to be asked.\n');
});

test('with a key prints the number of calls and their maximum cost first, and never the key', async () => {
  const claude = await given();
  const env = { ANTHROPIC_API_KEY: 'sk-secret-1', ANTHROPIC_BASE_URL: claude.url, MODEL };
  const { code, stdout } = await runFile('test/live/main.ts', [], env, { timeoutMs: 25_000 });
  const lines = stdout.split('\n');
  expect(lines[0]).toMatch(/^\d+ calls of claude-opus-5-5\. They cost at most \d\.\d{4} US dollars\.$/);
  expect(stdout).toMatch(/14 as believed, 0 differ, 0 not run/);
  expect(stdout).toMatch(/\d+ answered calls cost \d\.\d{4} US dollars\.\n$/);
  expect(stdout).not.toMatch(/sk-secret/);
  expect(code).toBe(0);
});
