import { expect, test } from '@jest/globals';
import { eachInWorld, mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { alerts, ask, givenLines, invalid, sessionOf, summaries } from '../../fixture/whole-chat.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

const DAY_MS = 24 * 3600_000;
/** About 12,000 tokens. */
const givenConversation = () => givenLines(conversation(40, 600));

eachInWorld({ claude: { windowTokens: 200_000 }, env: { MODEL: 'claude-sonnet-4-6' } });

const field = async (name: string) => world.peek.hget(world.keys.session(await sessionOf()), name);

/** The next so many calls that are to answer somebody meet this. */
function refuse(times: number, reaction: Reaction): void {
  let left = times;
  world.claude.react(({ kind }) => (kind === 'main' && left-- > 0 ? reaction : undefined));
}

const SMALLER = "This model's maximum context length is 9000 tokens, but the request has 14000 input tokens.";

test('a limit that is stated twice about the request holds for a day, for this endpoint and model', async () => {
  const before = await givenConversation();
  await start();
  refuse(2, invalid(SMALLER));
  expect(await ask('One', 1)).toMatchObject({ outcome: 'answered', recoveries: 1, session: before });
  expect(await field('limitTokens')).toBe('9000');
  expect(Number(await field('limitUntilMs'))).toBeLessThanOrEqual(Date.now() + DAY_MS);
  expect(await field('limitOf')).toContain('claude-sonnet-4-6');
  expect(summaries()).not.toEqual([]);
});

test.each([
  ['when the day is over', { limitUntilMs: '1' }, {}],
  ['as an earlier version left it, for ever', { limitUntilMs: '0' }, {}],
  ['of another model', { limitOf: 'claude-haiku-4-5 http://127.0.0.1' }, {}],
  ['where the operator states a window', {}, { CONTEXT_WINDOW_TOKENS: '200000' }],
])('a learnt limit does not hold %s: a chat above it is answered whole, with one call', async (_, change, env) => {
  const old = await givenConversation();
  const of = `claude-sonnet-4-6 ${world.env.ANTHROPIC_BASE_URL}`;
  const learnt = { limitTokens: '6000', limitUntilMs: String(Date.now() + DAY_MS), limitOf: of, ...change };
  await world.peek.hset(world.keys.session(old), learnt);
  await start(env);
  expect(await ask('One', 1)).toMatchObject({ outcome: 'answered', recoveries: 0, session: old });
  expect(mainCalls()).toHaveLength(1);
  expect(summaries()).toEqual([]);
});

test('a budget is no second witness: one stray refusal at its edge takes nothing, and two teach no less than half of the window', async () => {
  await moveToWorld({
    claude: { windowTokens: 1_000_000, bindThinking: false },
    env: { CONTEXT_BUDGET_TOKENS: '120000' },
  });
  const before = await givenLines(conversation(150, 1_000));
  await start();
  refuse(1, invalid('Prompt is too long'));
  expect(await ask('One', 1)).toMatchObject({ outcome: 'answered', recoveries: 0, session: before });
  expect(summaries()).toEqual([]);
  refuse(2, invalid('Prompt is too long'));
  expect(await ask('Two', 2)).toMatchObject({ outcome: 'answered', session: before });
  expect(Number(await field('limitTokens'))).toBeGreaterThanOrEqual(500_000);
});

test('CONTEXT_WINDOW_TOKENS wins over an endpoint that contradicts it, with one alert', async () => {
  await givenConversation();
  await start({ CONTEXT_WINDOW_TOKENS: '150000' });
  refuse(2, invalid(SMALLER));
  expect(await ask('One', 1)).toMatchObject({ outcome: 'answered' });
  expect(await field('limitTokens')).toBeNull();
  const alert = await world.telegram.waitForText(ALERT_CHAT, /CONTEXT_WINDOW_TOKENS is 150000/);
  expect(alert.text).toContain('9000');
  refuse(2, invalid(SMALLER));
  expect(await ask('Two', 2)).toMatchObject({ outcome: 'answered' });
  expect(alerts().filter((text) => /CONTEXT_WINDOW_TOKENS is/.test(text))).toHaveLength(1);
});

const TPM = 'Request too large for m in organization o on tokens per min (TPM): Limit 9000, Requested 14000.';
const OFFICIAL =
  "This request would exceed your organization's rate limit of 9,000 input tokens per minute. Please reduce the prompt length.";
const limited = (message: string, headers = {}): Reaction => ({
  do: 'error',
  status: 429,
  type: 'rate_limit_error',
  message,
  headers,
});
const SOON = { 'retry-after': '0' };

test.each([
  ['a text that counts the request', limited(TPM)],
  ['the official text', limited(OFFICIAL, SOON)],
  ['a header alone', limited('Rate limited.', { ...SOON, 'anthropic-ratelimit-input-tokens-limit': '9000' })],
])('a rate below the size of the chat (%s) compacts to fit, and is never a window', async (_, reaction) => {
  const old = await givenConversation();
  await start();
  // As a limit of rates does: what is smaller goes through.
  world.claude.react(({ kind, inputTokens }) => (kind === 'main' && inputTokens > 9_000 ? reaction : undefined));
  expect(await ask('One', 1)).toMatchObject({ outcome: 'answered', session: old });
  expect(await field('limitTokens')).toBeNull();
  expect(summaries()).not.toEqual([]);
  expect(shown().join()).not.toMatch(/answer right now|got stuck|started a new one/);
  expect(alerts()).toEqual([]);
});

test('a rate that is smaller than the chat is no reason to compact where the wait that it asks for is enough', async () => {
  const old = await givenConversation();
  await start();
  refuse(1, limited(OFFICIAL, SOON));
  expect(await ask('One', 1)).toMatchObject({ outcome: 'answered', recoveries: 0, session: old });
  expect(summaries()).toEqual([]);
});
