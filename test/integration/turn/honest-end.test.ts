import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { buttonsOf } from '../../fixture/buttons.ts';
import { call } from '../../fixture/content-blocks.ts';
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
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { isProbe } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

const WORDS = Array.from({ length: 120 }, (_, at) => `word ${at}`).join(', ');
const SHORT = 'word 0, word 1, word 2';
const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
const REFUSED = { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' } as const;
const RECALL = call('t1', { name: 'recall', input: { query: 'anything' } });
const BEFORE = { type: 'text', text: 'Let me look.' };
const LOOKS: Reaction = { do: 'answer', content: [BEFORE, RECALL] };
const BROKEN_OFF = `\n\n${EN.brokenOff}\n\n${EN.unavailable}`;
const DRAFTS = { draftsEveryMs: 50 };
const SOON_SILENT = { MODEL_IDLE_TIMEOUT_MS: '700' };
const IMPATIENT = { OUTAGE_PATIENCE_MS: '1500', MAX_ATTEMPTS: '2' };

eachInWorld();

/** Lets each call but those of a summary be answered in turn, the last answer again and again. */
function answers(...reactions: (Reaction | undefined)[]): void {
  let at = -1;
  world.claude.react((call) => {
    if (call.kind !== 'main' || isProbe(call)) return undefined;
    at = Math.min(at + 1, reactions.length - 1);
    return reactions[at];
  });
}

const outcome = (nth = 1) => nextOutcome(world, CHAT, nth);
const drafts = () =>
  world.telegram.calls.filter(({ method }) => method === 'sendMessageDraft').map(({ params }) => String(params.text));
const longest = (texts: readonly string[]) =>
  texts.reduce((most, text) => (text.length > most.length ? text : most), '');
const textsOf = (role: string) =>
  (mainCalls().at(-1)?.body.messages ?? [])
    .filter((message) => message.role === role)
    .flatMap(({ content }) =>
      typeof content === 'string' ? [content] : content.map(({ type, text }) => String(text ?? type)),
    );

/** What the model is shown of its own words when the user asks it to go on. */
async function goesOn(nth = 2): Promise<string[]> {
  answers({ do: 'answer', text: 'And on.' });
  world.telegram.say(CHAT, 'go on');
  expect(await outcome(nth)).toMatchObject({ outcome: 'answered' });
  expect(world.claude.violations()).toEqual([]);
  return textsOf('assistant').filter((text) => text !== 'thinking');
}

/** The message has failed: a dead letter, an alert, and its words above one line and the button that tries again. */
async function expectFailed(reason: unknown, words: unknown): Promise<void> {
  expect(await outcome()).toMatchObject({ outcome: 'failed', reason });
  expect(shown()).toEqual([words]);
  expect(await world.peek.xlen(world.keys.dead)).toBe(1);
  const [message] = world.telegram.shown(CHAT);
  expect(message && buttonsOf(message).map(({ text }) => text)).toEqual([EN.retryButton]);
  await world.telegram.waitForText(ALERT_CHAT, /failed|answers|key|credentials|model/i);
}

/** Presses the button that tries again. */
function retry(): void {
  const [message] = world.telegram.shown(CHAT);
  world.telegram.press(CHAT, message?.messageId ?? 0, buttonsOf(message)[0]?.callback_data ?? '', CHAT);
}

/** No call was made that a slow answer does not need. */
function expectCalls(main: number): void {
  expect(mainCalls()).toHaveLength(main);
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
}

variants<[string, Reaction]>([
  ['an answer that is written', { do: 'answer', text: WORDS, everyMs: 60 }],
  [
    'a thought of which nothing is seen but pings',
    { do: 'answer', text: WORDS, pondering: { forMs: 2_000, everyMs: 100 } },
  ],
])('%s for longer than TURN_TIMEOUT_MS arrives whole', async (_what, slow) => {
  answers(slow);
  await start({ TURN_TIMEOUT_MS: '1500' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(shown()).toEqual([WORDS]);
  expectCalls(1);
});

test('an answer that takes longer than TURN_MAX_MS arrives as far as it is, as failed, and is gone on with', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 150 });
  await start({ TURN_TIMEOUT_MS: '1000', TURN_MAX_MS: '2500' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  await expectFailed('turn_too_long', expect.stringMatching(/^word 0.*breaks off here.*couldn't answer just now/s));
  const said = shown()[0]?.slice(0, -BROKEN_OFF.length) ?? '';
  expect(said.length).toBeGreaterThan(SHORT.length);
  expect(WORDS.startsWith(said)).toBe(true);
  expect(said).toBe(longest([said, ...drafts()]));
  expectCalls(1);
  expect(await goesOn()).toEqual([said]);
});

variants<[string, Reaction, Record<string, string>]>([
  ['without a sound', { do: 'silent', text: WORDS }, SOON_SILENT],
  ['but for pings', { do: 'silent', text: WORDS, pingEveryMs: 100 }, { TURN_TIMEOUT_MS: '1000' }],
])(
  'a call that falls silent %s is made once more, and then it fails with the longest words',
  async (_how, silent, env) => {
    answers(silent, { ...silent, text: SHORT } as Reaction);
    await start(env, DRAFTS);
    world.telegram.say(CHAT, 'tell me');
    await expectFailed('fell_silent', `${WORDS}${BROKEN_OFF}`);
    expectCalls(2);
    expect(await goesOn()).toEqual([WORDS]);
  },
);

test('a call that falls silent once is made once more, of the fallback if there is one, and its whole answer is all that arrives', async () => {
  answers({ do: 'silent', text: SHORT }, { do: 'answer', text: 'All of it.' });
  await start({ ...SOON_SILENT, FALLBACK_MODEL: 'claude-haiku-4-5' }, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  expect(await outcome()).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['All of it.']);
  expectCalls(2);
  expect(mainCalls().map(({ body }) => body.model)).toEqual(['claude-opus-5-5', 'claude-haiku-4-5']);
  expect(await goesOn()).toEqual(['All of it.']);
});

test('a turn whose stream is cut, and whose endpoint then stays away, fails with its words, one line and the button', async () => {
  answers({ do: 'cut', text: SHORT }, DOWN);
  await start(IMPATIENT, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  await expectFailed('overloaded', `${SHORT}${BROKEN_OFF}`);
  expect(await goesOn()).toEqual([SHORT]);
});

test.each<[string, Reaction, string, readonly string[]]>([
  ['has done is shown to the model', LOOKS, 'Let me look.', ['Let me look.', 'tool_use']],
  ['has only said is not', { do: 'cut', text: SHORT }, SHORT, []],
])('what a message %s when it is tried again, and it stands once in the conversation', async (_, first, said, kept) => {
  answers(first, REFUSED);
  await start(IMPATIENT, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  await expectFailed('authentication', `${said}\n\n${EN.brokenOff}\n\n${EN.misconfigured}`);
  answers({ do: 'answer', text: 'All of it.' });
  retry();
  await until('the answer', async () => shown().includes('All of it.') || undefined);
  const words = textsOf('assistant').filter((text) => text !== 'thinking');
  expect(words).toEqual(kept);
  expect(await goesOn(4)).toEqual([...kept, 'All of it.']);
  expect(textsOf('user').filter((text) => text.includes('tell me'))).toHaveLength(1);
});

test('killed in the middle of a stream: what people saw is kept, and TURN_MAX_MS holds for the message in all', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 200 });
  Object.assign(world.env, { TURN_TIMEOUT_MS: '10000', TURN_MAX_MS: '60000' });
  const victim = await spawn();
  world.telegram.say(CHAT, 'tell me');
  const [turn = ''] = await until('time that is spent', async () => {
    const turns = await world.peek.keys(`${world.keys.turnPrefix}*`);
    const spent = await Promise.all(turns.map((key) => world.peek.hget(key, 'spentMs')));
    return spent.some((ms) => Number(ms) > 0) ? turns : undefined;
  });
  await until('many words', async () => longest(drafts()).includes('word 12') || undefined);
  victim.kill('SIGKILL');
  await victim.ended;
  const seen = longest(drafts());
  // All but a second of it.
  await world.peek.hset(turn, 'spentMs', 59_000);
  await takeOver();
  await expectFailed('turn_too_long', expect.stringContaining(seen));
  const { at = 0, endedAt = 0 } = mainCalls()[1] ?? {};
  expect(endedAt - at).toBeLessThan(30_000);
  expectCalls(2);
  expect(await goesOn()).toEqual([shown()[0]?.slice(0, -BROKEN_OFF.length)]);
});

test('handed back in the middle of a stream: the words are kept', async () => {
  answers({ do: 'answer', text: WORDS, everyMs: 200 }, DOWN);
  await start({ OUTAGE_PATIENCE_MS: '1500', TELEGRAM_STREAMING: 'off' });
  world.telegram.say(CHAT, 'tell me');
  await until('answer that is streamed', async () => mainCalls()[0]?.status === 200 || undefined);
  await stopGateways();
  await takeOver();
  await expectFailed('overloaded', expect.stringMatching(/^word 0.*breaks off here/s));
});

variants<[string, Reaction, readonly string[]]>([
  ['a text of whitespace', { do: 'silent', text: ' \n\n ' }, []],
  ['half a call', { do: 'silent', text: '', content: [{ ...RECALL, input: '{"que' }] }, []],
  ['half a thought', { do: 'silent', text: '', content: [] }, []],
  [
    'words before half a call',
    { do: 'silent', text: '', content: [BEFORE, { ...RECALL, input: '{' }] },
    ['Let me look.'],
  ],
])('%s: only words are shown and recorded', async (_what, silent, words) => {
  answers({ ...silent, pingEveryMs: 100 } as Reaction);
  await start({ TURN_TIMEOUT_MS: '800', TURN_MAX_MS: '2500' });
  world.telegram.say(CHAT, 'tell me');
  await expectFailed(
    expect.stringMatching(/fell_silent|turn_too_long/),
    `${words.map((text) => `${text}\n\n${EN.brokenOff}\n\n`)}${EN.unavailable}`,
  );
  expect(mainCalls().length).toBeLessThanOrEqual(2);
  expect(await goesOn()).toEqual(words);
});

test('words that were written before tools were called count, too', async () => {
  answers(LOOKS, { do: 'silent', text: SHORT });
  await start(SOON_SILENT, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  await expectFailed('fell_silent', `Let me look.\n\n${SHORT}${BROKEN_OFF}`);
  expectCalls(3);
  expect(await goesOn()).toEqual(['Let me look.', 'tool_use', SHORT]);
});

test('a turn that fell silent is not made longer: the output is not raised', async () => {
  const thought: Reaction = { do: 'answer', content: [], stopReason: 'max_tokens' };
  answers({ do: 'silent', text: ' ', pingEveryMs: 100 }, thought, { do: 'answer', text: 'Too late.' });
  await start({ TURN_TIMEOUT_MS: '800', MAX_OUTPUT_TOKENS: '2000' });
  world.telegram.say(CHAT, 'tell me');
  await expectFailed('cut_before_text', EN.endlessThought);
  expectCalls(2);
});

variants<[string, readonly Reaction[], string, string]>([
  ['that the model takes back', [{ do: 'answer', content: [], stopReason: 'refusal' }], 'refused', EN.declined],
  ['of a call that was made again', [{ do: 'answer', content: [RECALL] }, REFUSED], 'authentication', EN.misconfigured],
])('words %s are not shown', async (_whose, then, reason, notice) => {
  answers({ do: 'cut', text: SHORT }, ...then);
  await start({}, DRAFTS);
  world.telegram.say(CHAT, 'tell me');
  await expectFailed(reason, notice);
});
