import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import {
  CHAT,
  eachInWorld,
  mainCalls,
  shown,
  spawn,
  start,
  stopGateways,
  takeOver,
  world,
} from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

const WORDS = Array.from({ length: 120 }, (_, at) => `word ${at}`).join(', ');
const SHORT = 'word 0, word 1, word 2';
const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
const BROKEN_OFF = `\n\n${EN.brokenOff}`;
const DRAFTS = { draftsEveryMs: 50 };

eachInWorld();

/** Lets each call but those of a summary be answered in turn, the last answer again and again. */
function answers(...reactions: (Reaction | undefined)[]): void {
  let at = -1;
  world.claude.react(({ kind }) => {
    if (kind !== 'main') return undefined;
    at = Math.min(at + 1, reactions.length - 1);
    return reactions[at];
  });
}

const outcome = (nth = 1) => nextOutcome(world, CHAT, nth);
const drafts = () =>
  world.telegram.calls.filter(({ method }) => method === 'sendMessageDraft').map(({ params }) => String(params.text));
const longest = (texts: readonly string[]) =>
  texts.reduce((most, text) => (text.length > most.length ? text : most), '');

/** What the model is shown of its own words when the user asks it to go on. */
async function goesOn(nth = 2): Promise<string[]> {
  answers({ do: 'answer', text: 'And on.' });
  world.telegram.say(CHAT, 'go on');
  expect(await outcome(nth)).toMatchObject({ outcome: 'answered' });
  const messages = mainCalls().at(-1)?.body.messages ?? [];
  return messages.flatMap(({ role, content }) => {
    if (role !== 'assistant') return [];
    return typeof content === 'string' ? [content] : content.map((block) => String(block.text ?? block.type));
  });
}

const tookMs = ({ at = 0, endedAt = 0 } = {}) => endedAt - at;

/** No call was made that a slow answer does not need. */
function expectCalls(main: number): void {
  expect(mainCalls()).toHaveLength(main);
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
}

test('an answer that is written for longer than TURN_TIMEOUT_MS, but never silent, arrives whole', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 60 });
  await start({ TURN_TIMEOUT_MS: '1500' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(shown()).toEqual([WORDS]);
  expect(tookMs(mainCalls()[0])).toBeGreaterThan(1_500);
  expectCalls(1);
});

test('a thought of which nothing is seen but pings may take longer than TURN_TIMEOUT_MS', async () => {
  answers({ do: 'answer', text: SHORT, pondering: { forMs: 3_000, everyMs: 100 } });
  await start({ TURN_TIMEOUT_MS: '2000' });
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(shown()).toEqual([SHORT]);
  expectCalls(1);
});

test('an answer that takes longer than TURN_MAX_MS arrives as far as it is, and is gone on with', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 150 });
  await start({ TURN_TIMEOUT_MS: '1000', TURN_MAX_MS: '2500' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_turn_too_long' });
  const [words = ''] = shown();
  expect(words.endsWith(BROKEN_OFF)).toBe(true);
  const said = words.slice(0, -BROKEN_OFF.length);
  expect(said.length).toBeGreaterThan(SHORT.length);
  expect(WORDS.startsWith(said)).toBe(true);
  expect(said).toBe(longest([said, ...drafts()]));
  expectCalls(1);
  expect(await goesOn()).toEqual([said]);
  expect(world.claude.violations()).toEqual([]);
});

variants<[string, Reaction, Record<string, string>]>([
  ['without a sound', { do: 'silent', text: WORDS }, { MODEL_IDLE_TIMEOUT_MS: '700' }],
  ['but for pings', { do: 'silent', text: WORDS, pingEveryMs: 100 }, { TURN_TIMEOUT_MS: '1000' }],
])(
  'a call that falls silent %s is made once more, and then the longest words are the answer',
  async (_how, silent, env) => {
    answers(silent, { ...silent, text: SHORT } as Reaction);
    await start(env, DRAFTS);
    world.telegram.say(CHAT, 'tell me');
    expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_fell_silent' });
    expect(shown()).toEqual([`${WORDS}${BROKEN_OFF}`]);
    expectCalls(2);
    expect(await goesOn()).toEqual([WORDS]);
  },
);

test('a call that falls silent once is made once more, and its whole answer is all that arrives', async () => {
  answers({ do: 'silent', text: SHORT }, { do: 'answer', text: 'All of it.' });
  await start({ MODEL_IDLE_TIMEOUT_MS: '700' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['All of it.']);
  expectCalls(2);
  expect(await goesOn()).toContain('All of it.');
  expect(JSON.stringify(mainCalls().at(-1)?.body)).not.toContain(SHORT);
});

test('with a fallback model, the second of two silent calls is its', async () => {
  answers({ do: 'silent', text: SHORT });
  await start({ MODEL_IDLE_TIMEOUT_MS: '700', FALLBACK_MODEL: 'claude-haiku-4-5' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_fell_silent' });
  expect(mainCalls().map(({ body }) => body.model)).toEqual(['claude-opus-5-5', 'claude-haiku-4-5']);
  expect(shown()).toEqual([`${SHORT}${BROKEN_OFF}`]);
});

variants<[string, Reaction, string]>([
  ['the endpoint stays away', DOWN, 'cut_overloaded'],
  ['every call is cut', { do: 'cut', text: 'word 0' }, expect.stringMatching(/^cut_/) as unknown as string],
  [
    'the key is not accepted any more',
    { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
    'cut_authentication',
  ],
])('words that were written before a cut are the answer when %s', async (_what, then, reason) => {
  answers({ do: 'cut', text: SHORT }, then);
  await start({ OUTAGE_PATIENCE_MS: '1500', MAX_ATTEMPTS: '2' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason });
  expect(shown()).toEqual([`${SHORT}${BROKEN_OFF}`]);
  expect(await goesOn()).toEqual([SHORT]);
  expect(world.claude.violations()).toEqual([]);
});

test('the words before a terminal failure in the middle of a stream are the answer', async () => {
  answers({ do: 'errorEvent', type: 'authentication_error', message: 'invalid x-api-key', text: SHORT });
  await start();
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_authentication' });
  expect(shown()).toEqual([`${SHORT}${BROKEN_OFF}`]);
  // One odd reply says little: the same is asked once more.
  expectCalls(2);
});

test('killed in the middle of a stream, and the endpoint is gone: what people saw is the answer', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 200 }, DOWN);
  Object.assign(world.env, { OUTAGE_PATIENCE_MS: '1500' });
  const victim = await spawn();
  world.telegram.say(CHAT, 'tell me');
  await until('second draft', async () => drafts().length >= 2 || undefined);
  victim.kill('SIGKILL');
  await victim.ended;
  const seen = longest(drafts());
  await takeOver();
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_overloaded' });
  const [words = ''] = shown();
  expect(words.startsWith(seen)).toBe(true);
  expect(words.endsWith(BROKEN_OFF)).toBe(true);
  expect(await goesOn()).toEqual([words.slice(0, -BROKEN_OFF.length)]);
});

test('TURN_MAX_MS holds for a message in all, also where its process is killed', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 1_000 });
  Object.assign(world.env, { TURN_TIMEOUT_MS: '10000', TURN_MAX_MS: '60000' });
  const victim = await spawn();
  world.telegram.say(CHAT, 'tell me');
  const [turn = ''] = await until('time that is spent', async () => {
    const turns = await world.peek.keys(`${world.keys.turnPrefix}*`);
    const spent = await Promise.all(turns.map((key) => world.peek.hget(key, 'spentMs')));
    return spent.some((ms) => Number(ms) > 0) ? turns : undefined;
  });
  victim.kill('SIGKILL');
  await victim.ended;
  // All but a second of it.
  await world.peek.hset(turn, 'spentMs', 59_000);
  await takeOver();
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_turn_too_long' });
  expect(tookMs(mainCalls()[1])).toBeLessThan(30_000);
  expectCalls(2);
});

test('handed back in the middle of a stream: the words are kept', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 200 }, DOWN);
  await start({ OUTAGE_PATIENCE_MS: '1500', TELEGRAM_STREAMING: 'off' });
  world.telegram.say(CHAT, 'tell me');
  await until('answer that is streamed', async () => mainCalls()[0]?.status === 200 || undefined);
  await stopGateways();
  await takeOver();
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_overloaded' });
  expect(shown()).toEqual([expect.stringMatching(/^word 0.*breaks off here/s)]);
});

variants<[string, Reaction]>([
  ['a text of whitespace', { do: 'silent', text: ' \n\n ' }],
  [
    'half a call',
    { do: 'silent', text: '', content: [{ type: 'tool_use', id: 't1', name: 'recall', input: '{"que' }] },
  ],
  ['half a thought', { do: 'silent', text: '', content: [] }],
])('%s says nothing: the message fails as any other does', async (_what, silent) => {
  answers({ ...silent, pingEveryMs: 100 } as Reaction);
  world.claude.react(({ kind }) => (kind === 'main' ? ({ ...silent, pingEveryMs: 100 } as Reaction) : undefined));
  await start({ TURN_TIMEOUT_MS: '800', TURN_MAX_MS: '2500' });
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({
    outcome: 'failed',
    reason: expect.stringMatching(/fell_silent|turn_too_long/),
  });
  expect(shown()).toEqual([EN.unavailable]);
  expect(mainCalls().length).toBeLessThanOrEqual(2);
  expect(await goesOn()).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
});

test('words before half a call are the answer, and the call is not recorded', async () => {
  const call = { type: 'tool_use', id: 't1', name: 'recall', input: '{"query": "hal' };
  answers({ do: 'silent', text: '', content: [{ type: 'text', text: SHORT }, call] });
  await start({ MODEL_IDLE_TIMEOUT_MS: '700' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_fell_silent' });
  expect(shown()).toEqual([`${SHORT}${BROKEN_OFF}`]);
  expectCalls(2);
  expect(await goesOn()).toEqual([SHORT]);
  expect(world.claude.violations()).toEqual([]);
});

test('words that were written before tools were called count, too', async () => {
  const call = { type: 'tool_use', id: 't1', name: 'recall', input: { query: 'anything' } };
  answers({ do: 'answer', content: [{ type: 'text', text: 'Let me look.' }, call] }, { do: 'silent', text: SHORT });
  await start({ MODEL_IDLE_TIMEOUT_MS: '700' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', reason: 'cut_fell_silent' });
  expect(shown()).toEqual([`Let me look.\n\n${SHORT}${BROKEN_OFF}`]);
  expectCalls(3);
  expect((await goesOn()).filter((text) => text !== 'thinking')).toEqual(['Let me look.', 'tool_use', SHORT]);
  expect(world.claude.violations()).toEqual([]);
});

test('a turn that fell silent is not made longer: the output is not raised', async () => {
  const thought: Reaction = { do: 'answer', content: [], stopReason: 'max_tokens' };
  answers({ do: 'silent', text: ' ', pingEveryMs: 100 }, thought, { do: 'answer', text: 'Too late.' });
  await start({ TURN_TIMEOUT_MS: '800', MAX_OUTPUT_TOKENS: '2000' });
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'failed', reason: 'cut_before_text' });
  expect(shown()).toEqual([EN.endlessThought]);
  expectCalls(2);
});

test('words that the model takes back are no answer', async () => {
  answers({ do: 'cut', text: SHORT }, { do: 'answer', content: [], stopReason: 'refusal' });
  await start({}, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(shown()).toEqual([EN.declined]);
});

test('words of a call that was made again are gone once the session has its answer', async () => {
  const call = { type: 'tool_use', id: 't1', name: 'recall', input: { query: 'anything' } };
  const refused = { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' } as const;
  answers({ do: 'cut', text: SHORT }, { do: 'answer', content: [call] }, refused);
  await start({}, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'failed', reason: 'authentication' });
  expect(shown()).toEqual([EN.misconfigured]);
});
