import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, mainCalls, moveToWorld, shown, spawn, start, world } from '../../fixture/each-test.ts';
import { pdfOf } from '../../fixture/files.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ask, givenLines, sendFile, summaries } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

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
  const victim = await spawn({ SPILLWAY_FAIL_AT: 'summary part stored:1', CONTEXT_WINDOW_TOKENS: '20000' });
  world.telegram.say(CHAT, 'Do not lose me');
  expect(await victim.ended).toBe('SIGKILL');
  expect(summaries()).toHaveLength(1);
  await spawn({ CONTEXT_WINDOW_TOKENS: '20000' });
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
