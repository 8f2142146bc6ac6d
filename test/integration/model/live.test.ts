import { expect, test } from '@jest/globals';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { runFile } from '../../fixture/command.ts';
import { type ClaudeOptions, type ClaudeStandIn, startClaude } from '../../stand-in/claude/server.ts';
import { type Judged, judgeAll } from '../../tools/live/expectation.ts';
import { EXPECTATIONS } from '../../tools/live/expectations.ts';
import { openLine } from '../../tools/live/line.ts';
import { obeys } from '../../tools/live/obedient.ts';
import { isRight } from '../../tools/live/questions.ts';
import { REFUSAL_STRING } from '../../tools/live/talk-expectations.ts';
import type { Question } from '../../tools/score/chat.ts';

const MODEL = 'claude-opus-5-5';
/** As Opus 5.5 is documented; only its window is smaller. */
const LIKE_OPUS: ClaudeOptions = {
  windowTokens: 60_000,
  maxOutputTokens: 128_000,
  thinks: 300,
  bindThinking: true,
  refusesText: new RegExp(REFUSAL_STRING),
};

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

test.each<[string, ClaudeOptions, RegExp[]]>([
  ['a model that does not think', { thinks: 0 }, [/thinking comes signed/, /may be left out/, /edited message/]],
  ['a model that does not bind its thinking', { bindThinking: false }, [/edited message/]],
  ['an endpoint without limits', { limits: 'null' }, [/models endpoint/]],
  ['an endpoint without a models call', { modelsStatus: 404 }, [/models endpoint/]],
  ['a cache that keeps nothing', { cache: { minTokens: 1_000_000 } }, [/written to the cache/, /an hour/]],
  ['a model that refuses nothing', { refusesText: /nobody says this/ }, [/test string/]],
])('reports what differs: %s', async (_, options, expected) => {
  const all = await judged(await given({ ...LIKE_OPUS, ...options }));
  const names = all.filter(({ verdict }) => verdict !== 'ok').map(({ name }) => name);
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

test.each<[string, Partial<Question>, string, boolean]>([
  ['the newest value', { right: 'Ada Merrow' }, 'Ada Merrow', true],
  ['the old value', { right: 'Ada Merrow' }, 'Bruno Falk', false],
  ['a day', { kind: 'time', right: '2026-02-03' }, 'That was\non 2026-02-03.', true],
  ['that nothing is known', { kind: 'never said', wrong: ['Bruno Falk'] }, 'UNKNOWN', true],
  ["somebody else's value", { kind: 'never said', wrong: ['Bruno Falk'] }, 'UNKNOWN, but Bruno Falk', false],
  ['a value that nobody named', { kind: 'never said', wrong: ['Bruno Falk'] }, 'Carla Whitby', false],
])('of an answer to a question it is judged whether it is right: %s', (_what, over, says, expected) => {
  const question: Question = { kind: 'changed fact', asks: 'Who?', about: 'dentist', wrong: [], ...over };
  expect(isRight(question, says)).toBe(expected);
});

test('without a key prints one sentence and exits 2', async () => {
  const { code, stdout, stderr } = await runFile('test/tools/live/main.ts', [], {});
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe('ANTHROPIC_API_KEY is not set, so there is no endpoint to be asked.\n');
});

test('the stand-in meets every expectation; the calls and their maximum cost are stated first, and the key never', async () => {
  const claude = await given();
  const env = { ANTHROPIC_API_KEY: 'sk-secret-1', ANTHROPIC_BASE_URL: claude.url, MODEL };
  const { code, stdout } = await runFile('test/tools/live/main.ts', ['--overflow'], env, { timeoutMs: 25_000 });
  const [, calls, usd] =
    /^(\d+) calls of claude-opus-5-5\. They cost at most (\d+\.\d{4}) US dollars\.\n/.exec(stdout) ?? [];
  expect(claude.calls.length).toBeLessThanOrEqual(Number(calls));
  expect(claude.usd()).toBeLessThan(Number(usd));
  expect(stdout).toContain(`${EXPECTATIONS.length} as believed, 0 differ, 0 not run`);
  // It answers with all that it finds, so it is right where that holds the answer, and never says that it knows nothing.
  expect(stdout).toMatch(
    /^single fact +5 of 5 right\nchanged fact +3 of 5 right\ntime +5 of 5 right\nnever said +0 of 5 right$/m,
  );
  const [, cost] =
    /\d+ answered calls took \d+ tokens and gave \d+\. They cost (\d\.\d{4}) US dollars\.\n$/.exec(stdout) ?? [];
  expect(Number(cost)).toBeCloseTo(claude.usd(), 3);
  expect(stdout).not.toMatch(/sk-secret/);
  expect(code).toBe(0);
});
