import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { call, result } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, killAt, mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { pdfOf } from '../../fixture/files.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, givenLines, sendFile, summaries } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

const newestRequest = () => JSON.stringify(mainCalls().at(-1)?.body);

test('six exchanges are not replaced by "OK", and neither is the earlier summary', async () => {
  world.claude.windowTokens = 200_000;
  await start({ CONTEXT_WINDOW_TOKENS: '40000', MODEL: 'claude-sonnet-4-6' });
  await givenLines(conversation(12, 100));
  await ask('/compact');
  for (let nth = 2; nth <= 13; nth++) await ask(`Exchange ${nth}: ${'many words about boats '.repeat(120)}`, nth);
  world.claude.react(({ kind }) => (kind === 'compaction' ? { do: 'answer', text: 'OK' } : undefined));
  await ask('/compact', 14);
  expect(shown().at(-1)).toBe(EN.notCompacted);
  expect(summaries()).toHaveLength(3);
  await ask('Still there?', 15);
  for (const part of ['Question 0 about', 'Exchange 2:', 'Exchange 13:'])
    expect([part, newestRequest().includes(part)]).toEqual([part, true]);
});

test('six large PDFs in a row: the conversation is compacted as usual, and the sixth keeps its pictures', async () => {
  await moveToWorld({ claude: { windowTokens: 1_000_000 }, env: { MODEL: 'claude-sonnet-4-6' } });
  const session = await givenLines(conversation(30, 1_000));
  await start();
  const bytes = pdfOf(90);
  for (let nth = 1; nth <= 6; nth++) {
    expect(await sendFile(`report-${nth}.pdf`, bytes, nth)).toMatchObject({ outcome: 'answered', session });
    expect(newestRequest().includes('application/pdf')).toBe(true);
  }
  expect(shown().filter((text) => /too large|started a new one/.test(text))).toEqual([]);
});

test('killed between two calls of one summary: the finished part is not requested again', async () => {
  await givenLines(conversation(200, 1_000));
  world.env.CONTEXT_WINDOW_TOKENS = '20000';
  const asks = () => world.telegram.say(CHAT, 'Do not lose me');
  await killAt('summary part stored:1', asks, async () => expect(summaries()).toHaveLength(1));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(summaries().map(({ body }) => JSON.stringify(body).includes('<previous-summary>'))).toEqual([false, true]);
});

test('a summary has 16,000 output tokens and low effort, independent of the settings for answers', async () => {
  await moveToWorld({ claude: { windowTokens: 100_000, maxOutputTokens: 64_000 } });
  await start({ MAX_OUTPUT_TOKENS: '2000', EFFORT: 'high' });
  await givenLines(conversation(500, 1_000));
  await ask('Still there?');
  for (const { body } of summaries())
    expect(body).toMatchObject({ max_tokens: 16_000, output_config: { effort: 'low' } });
  expect(mainCalls().at(-1)?.body).toMatchObject({ max_tokens: 2_000, output_config: { effort: 'high' } });
  expect(summaries().length).toBeGreaterThan(0);
  expect(world.claude.violations()).toEqual([]);
});

test('an overflow without numbers teaches that the window is smaller than the refused request', async () => {
  await start();
  const session = await givenLines(conversation(60, 1_000));
  world.claude.windowTokens = 200_000;
  world.claude.react(({ kind, inputTokens }) =>
    kind === 'main' && inputTokens > 8_000 ? LIES.tooLongWithoutNumbers : undefined,
  );
  expect(await ask('Still there?')).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  const [refused, , answered] = mainCalls().map(({ inputTokens }) => inputTokens);
  expect(answered).toBeLessThan((refused ?? 0) / 2);
  const learnt = Number(await world.peek.hget(world.keys.session(session), 'limitTokens'));
  expect(learnt).toBe(200_000 / 2);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
});

const STAGE_MS = 2_000;
/** What an answer takes besides: two seconds before a repeated request, other calls, and a machine that is busy. */
const BESIDES_MS = 8_000;
const TIMES = { SUMMARY_TIME_MS: STAGE_MS, summaryIdleMs: 700 };
const LONG_TEXT = 'They spoke of many things, one after the other. '.repeat(40);
const SUMMARISER = 'claude-haiku-4-5';

/** Starts a gateway; gives the chat a conversation. */
async function begin(env: Record<string, string>, limits: object = TIMES, lines = conversation(60, 1_000)) {
  await start(env, limits);
  return givenLines(lines);
}

/** Lets each summary be answered in turn, the last answer again and again. */
function summarises(...reactions: (Reaction | undefined)[]): void {
  let at = -1;
  world.claude.react(({ kind }) => {
    if (kind !== 'compaction') return undefined;
    at = Math.min(at + 1, reactions.length - 1);
    return reactions[at];
  });
}

/** Asks something, and returns how long the answer took. */
async function asked(nth = 1): Promise<{ tookMs: number; session: string }> {
  const startedMs = performance.now();
  const settled = await ask('Still there?', nth);
  expect(settled).toMatchObject({ outcome: 'answered' });
  expect(world.claude.violations()).toEqual([]);
  return { tookMs: performance.now() - startedMs, session: String(settled.session) };
}

variants<[string, Reaction]>([
  ['sends no headers', { do: 'hang' }],
  ['falls silent', { do: 'silent', text: 'They' }],
  ['sends nothing but pings, for ever', { do: 'silent', text: '', pingEveryMs: 50 }],
  ['writes a word now and then, for ever', { do: 'answer', text: 'They talked. '.repeat(40), everyMs: 600 }],
  ['is overloaded', LIES.overloaded],
  ['writes nothing', { do: 'answer', text: ' ' }],
])('a summariser that %s keeps nobody waiting for longer than a stage', async (_what, reaction) => {
  const old = await begin({});
  summarises(reaction);
  const { tookMs, session } = await asked();
  expect(tookMs).toBeLessThan(STAGE_MS + BESIDES_MS);
  expect(session).not.toBe(old);
  expect(shown()[0]).toBe(EN.freshSession);
});

test('a summariser that falls silent once costs no conversation: it is asked again', async () => {
  const session = await begin({}, { ...TIMES, SUMMARY_TIME_MS: 10_000 });
  summarises({ do: 'silent', text: 'They' }, undefined);
  expect((await asked()).session).toBe(session);
});

test('a summary that takes longer than TURN_TIMEOUT_MS, but not than a recovery may, is used', async () => {
  const session = await begin({ TURN_TIMEOUT_MS: '1000' }, {});
  summarises({ do: 'answer', text: LONG_TEXT, afterMs: 1_600 });
  expect((await asked()).session).toBe(session);
  expect(summaries().filter(({ aborted }) => aborted === true)).toEqual([]);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain(LONG_TEXT.trim());
});

test('a summary that never comes leads to a fresh session after RECOVERY_TIMEOUT_MS, and is requested once', async () => {
  const old = await begin({ RECOVERY_TIMEOUT_MS: '1500' }, {});
  summarises({ do: 'hang' });
  expect((await asked()).session).not.toBe(old);
  expect(summaries()).toHaveLength(1);
  expect(mainCalls().map(({ status }) => status)).toEqual([400, 200]);
});

test('a summary that is written slowly counts as far as it is when its time is over', async () => {
  const session = await begin({});
  summarises({ do: 'answer', text: LONG_TEXT.repeat(6), everyMs: 60 });
  const answered = await asked();
  expect(answered.session).toBe(session);
  expect(answered.tookMs).toBeLessThan(STAGE_MS + BESIDES_MS);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('The summary was cut here');
});

variants<[string, Record<string, string>]>([
  ['of its own, that stays in trouble,', { COMPACTION_MODEL: SUMMARISER }],
  ['that is also the model and stays in trouble', { MODEL: SUMMARISER, FALLBACK_MODEL: 'claude-opus-5-5' }],
  ['that is retired', { COMPACTION_MODEL: 'claude-old' }],
])('a summariser %s is replaced by the other model', async (_what, env) => {
  world.claude.lives.set('claude-old', { lifecycle: 'retired' });
  const session = await begin(env);
  world.claude.react(({ kind, body }) =>
    kind === 'compaction' && body.model === SUMMARISER ? LIES.overloaded : undefined,
  );
  expect((await asked()).session).toBe(session);
  const names = [env.COMPACTION_MODEL ?? SUMMARISER, 'claude-opus-5-5'];
  expect(new Set(summaries().map(({ body }) => body.model))).toEqual(new Set(names));
});

test('a conversation that exceeds only its budget is sent whole when there is no summary', async () => {
  world.claude.windowTokens = 200_000;
  const session = await begin({ CONTEXT_BUDGET_TOKENS: '20000' });
  summarises({ do: 'hang' });
  const answered = await asked();
  expect(answered).toMatchObject({ session });
  expect(answered.tookMs).toBeLessThan(STAGE_MS + BESIDES_MS);
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('Question 0 about');
  expect(shown()).toHaveLength(1);
  // The next one is compacted, once that works again.
  summarises({ do: 'answer', text: LONG_TEXT });
  expect((await asked(2)).session).toBe(session);
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).not.toContain('Question 0 about');
});

test('where there is no summary, old results of tools give way before the conversation does', async () => {
  world.claude.windowTokens = 30_000;
  const looks = Array.from({ length: 6 }, (_, n) => [
    { role: 'user', content: `Look at file ${n}.` },
    { role: 'assistant', content: [call(`t${n}`)] },
    { role: 'user', content: [result(`t${n}`, 'row of data '.repeat(700))] },
    { role: 'assistant', content: `I have seen file ${n}.` },
  ]);
  const lines = [...looks.flat().map((line) => JSON.stringify(line)), ...conversation(17, 1_100)];
  const session = await begin({ CONTEXT_WINDOW_TOKENS: '30000' }, TIMES, lines);
  summarises({ do: 'hang' });
  expect((await asked()).session).toBe(session);
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('Look at file 0.');
});
