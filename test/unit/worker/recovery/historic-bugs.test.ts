/** Bugs that wedged other gateways of this kind, each by its name. What the notes call them is in brackets. */
import { expect, test } from '@jest/globals';
import { countRequest, usableTokens } from '../../../../worker/model/count.ts';
import { buildSeed } from '../../../../worker/recovery/seed.ts';
import { compact } from '../../../../worker/recovery/window-compaction.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { view } from '../../../../worker/session/view.ts';
import { compactionBy } from '../../../fixture/compaction.ts';
import { assistantSays, STAMP, userSays } from '../../../fixture/records.ts';
import { GROUNDS } from '../../../fixture/requests.ts';
import { type Reply, scripted } from '../../../fixture/scripted-model.ts';
import { firstViolation } from '../../../stand-in/claude/rules.ts';
import { call, image, png, result, text } from '../../../stand-in/claude/specimens.ts';

const MODEL = 'claude-haiku-4-5';

function violationOf(records: readonly LogRecord[], head?: LogRecord) {
  const messages = view({ head, records, omitted: 0 });
  return firstViolation({ model: 'm', max_tokens: 100, messages }, GROUNDS);
}

test('pairs: two compactions in a row leave no result without its call [pi#4570]', () => {
  const batch = (a: string, b: string) => [assistantSays([call(a), call(b)]), userSays([result(a), result(b)])];
  const [first, second] = [batch('t1', 't2'), batch('t3', 't4')];
  const log = [
    userSays('a'),
    ...first,
    assistantSays('b'),
    userSays('c'),
    ...second,
    assistantSays('d'),
    userSays('e'),
  ];
  const head: LogRecord = { ...STAMP, t: 'compaction', summary: 'before', records: 0 };
  for (let from = 0; from < log.length; from++) {
    const again: LogRecord = { ...head, records: from };
    const violation = violationOf([...log.slice(from), head, again, userSays('f')], again);
    expect({ from, violation }).toEqual({ from, violation: undefined });
  }
});

test('pairs: a call that a crash left without a result is closed, so that the API accepts it [opencode, seed 004]', () => {
  const log = [userSays('a'), assistantSays([text('I look'), call('t1'), call('t2')]), userSays([result('t2')])];
  expect(violationOf([...log, userSays('still there?')])).toBeUndefined();
});

test('poisoned image: a picture that was scrubbed once is in no later request [docker-agent, seed 003]', () => {
  const log: LogRecord[] = [
    userSays([text('look'), image(png(9, 9))], { entry: '1-0' }),
    { ...STAMP, t: 'scrub', entry: '1-0', block: 1, text: '[image/png, 1 KB, left out]' },
  ];
  for (const more of [[], [assistantSays('ok'), userSays('next')], [assistantSays('ok'), userSays('and next')]]) {
    const sent = JSON.stringify(view({ head: undefined, records: [...log, ...more], omitted: 0 }));
    expect(sent).not.toContain('"image"');
    expect(sent).toContain('left out');
    log.push(...more);
  }
});

test.each<[string, { inputTokens: number; outputTokens: number } | undefined]>([
  ['an aborted answer', undefined],
  ['an answer with zero usage', { inputTokens: 0, outputTokens: 0 }],
])('usage: %s is ignored by the next count [pi#1382, #5526]', (_, usage) => {
  const answer = { ...assistantSays('half an ans'), model: MODEL, ...(usage && { usage }) } as LogRecord;
  const window = { head: undefined, records: [userSays('x'.repeat(9_000)), answer, userSays('go on')], omitted: 0 };
  const count = countRequest({ system: '', tools: [], serverTools: [] }, window, view(window), MODEL, 1);
  expect(count.known).toBe(0);
  expect(count.tokens).toBeGreaterThan(1_000);
});

test('usage: a count from before a compaction is ignored after it [pi#1860]', () => {
  const usage = { inputTokens: 150_000, outputTokens: 1_000 };
  const answer = { ...assistantSays('long'), model: MODEL, usage } as LogRecord;
  const compacted: LogRecord = { ...STAMP, t: 'compaction', summary: 'short', records: 0 };
  const window = { head: compacted, records: [userSays('a'), answer, compacted, userSays('go on')], omitted: 0 };
  const count = countRequest({ system: '', tools: [], serverTools: [] }, window, view(window), MODEL, 1);
  expect(count.tokens).toBeLessThan(1_000);
});

test('headroom: the output and the reserve are not both subtracted [altimate#35]', () => {
  expect(usableTokens(200_000, 4_096)).toBe(200_000 - 16_000);
  expect(usableTokens(200_000, 32_000)).toBe(200_000 - 32_000);
});

test('negative window: a reserve larger than the window leaves at least half of it usable [altimate#35]', () => {
  for (const limit of [1_000, 8_000, 16_000, 20_000])
    for (const output of [1_024, 8_192, 64_000]) expect(usableTokens(limit, output)).toBeGreaterThanOrEqual(limit / 2);
});

test.each<[string, Reply]>([
  ['an error that a proxy sent as an answer', 'Error: prompt is too long: 213462 tokens > 200000 maximum'],
  ['a JSON error', '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'],
  ['a cut answer', { text: 'The user asked for', stopReason: 'max_tokens' }],
  ['a refusal', { text: 'I cannot', stopReason: 'refusal' }],
  ['an empty answer', ''],
])('error text: %s never becomes the summary of a conversation [pi#7048, opencode]', async (_, reply) => {
  const records = [
    ...Array.from({ length: 40 }, (_each, at) => [userSays(`q${at} ${'x '.repeat(400)}`), assistantSays('ok')]),
  ];
  const window = { head: undefined, records: [...records.flat(), userSays('pending')], omitted: 0 };
  const outcome = await compact(window, compactionBy(scripted(reply)), new AbortController().signal);
  expect(outcome.ok).toBe(false);
});

test('nested seeds: a seed never quotes an earlier one, and the newest question stays in it [opensquilla#1563]', () => {
  const log: LogRecord[] = [userSays('remember the number 4711'), assistantSays('I do')];
  let seed = '';
  for (let round = 0; round < 50; round++) {
    log.push(userSays(`question ${round}`), assistantSays(`answer ${round}`));
    seed = buildSeed({
      records: log,
      total: log.length,
      pending: 'none',
      channel: 'private chat 1',
      boundary: 'b0undary',
      tokensMax: 2_000,
      because: 'outgrown',
    });
    log.push({ ...STAMP, t: 'seed', text: seed, parent: 's', records: log.length });
  }
  expect(seed.split('Recovery note')).toHaveLength(2);
  expect(seed).toContain('question 49');
});
