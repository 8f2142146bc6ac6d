import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { estimateText } from '../../../../worker/model/estimate.ts';
import type { Model } from '../../../../worker/model/port.ts';
import { compact } from '../../../../worker/recovery/window-compaction.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { view, type Window } from '../../../../worker/session/view.ts';
import { type CompactionOver, compactionBy } from '../../../fixture/compaction.ts';
import { records as anyRecords, assistantSays, heads, plainRecords, userSays } from '../../../fixture/records.ts';
import { GROUNDS } from '../../../fixture/requests.ts';
import { type Reply, scripted } from '../../../fixture/scripted-model.ts';
import { forCasesAsync } from '../../../fixture/texts.ts';
import { firstViolation } from '../../../stand-in/claude/rules.ts';

const PENDING_TEXT = 'THE PENDING QUESTION';
const PENDING = userSays(PENDING_TEXT, { entry: '9-0', id: 'pending' });
const SUMMARY = 'They talked about boats, and chose the one with two masts. '.repeat(4).trim();
const run = (window: Window, model: Model, over?: CompactionOver) =>
  compact(window, compactionBy(model, over), new AbortController().signal);

async function compacted(window: Window, model: Model, over: CompactionOver = {}) {
  const outcome = await run(window, model, over);
  if (!outcome.ok) throw new Error(`no compaction: ${outcome.reason}`);
  return outcome;
}

const turns = (count: number, chars = 200): LogRecord[] =>
  Array.from({ length: count }, (_, n) => [
    userSays(`Question ${n}. ${'x'.repeat(chars)}`),
    assistantSays(`Reply ${n}. ${'y'.repeat(chars)}`),
  ]).flat();
const windowOf = (older: LogRecord[], head?: LogRecord): Window => ({ head, records: [...older, PENDING], omitted: 0 });

test.each([
  [40, 200, 18, 1_113],
  [40, 800, 4, 929],
  [40, 1_500, 2, 865],
  [11, 231, 16, 1_102],
])('of %d turns of %d characters, as many as fit stay: %d records, %d tokens with the summary', async (...figures) => {
  const [count, chars, kept, tokens] = figures;
  const { head, olderTokens } = await compacted(windowOf(turns(count, chars)), scripted(SUMMARY));
  expect([count * 2 - head.records, olderTokens]).toEqual([kept, tokens]);
});

test('makes at most two summary calls, the second of the other model if the first answer is no summary', async () => {
  const model = scripted(' ', SUMMARY);
  const { calls, head } = await compacted(windowOf(turns(2_000)), model, { summariser: { otherName: 'other' } });
  expect([calls, head.summary, head.unseen]).toEqual([2, SUMMARY, 3_902]);
  expect(model.asked.map((request) => request.model)).toEqual(['summariser', 'other']);
});

const BEFORE = '<previous-summary>\nThey chose Redis.\n</previous-summary>\n\n';
const OLDER = { v: 1 as const, id: 'r', at: '', t: 'compaction' as const, summary: 'They chose Redis.', records: 3 };

test.each<[string, LogRecord | undefined, string, object]>([
  ['nothing', undefined, '', { unseen: 5 }],
  ['a summary', OLDER, BEFORE, { unseen: 5 }],
  ['a summary with files and a gap', { ...OLDER, unseen: 7, files: ['a'] }, BEFORE, { unseen: 12, files: ['a'] }],
  ['a seed', { ...OLDER, t: 'seed', text: OLDER.summary, parent: 's-0' }, BEFORE, { unseen: 5 }],
])('updates %s instead of forgetting it', async (_, before, asked, about) => {
  const model = scripted(SUMMARY);
  const { head, changes } = await compacted({ ...windowOf(turns(60), before), omitted: 5 }, model);
  const stored = { v: 1, t: 'compaction', id: '', at: '', summary: SUMMARY, records: 102, boundary: 'b0undary' };
  expect([head, changes]).toEqual([{ ...stored, ...about }, []]);
  expect(String(model.asked[0]?.messages[0]?.content).split('(5 older records')[0]).toBe(asked);
});

test('a summary call breaks no API rule, fits the window and has its output bounds', async () => {
  const model = scripted(SUMMARY);
  const head = { ...OLDER, summary: 's'.repeat(4_000) };
  await compacted(windowOf(turns(2_000, 500), head), model, { summariser: { outputTokens: 700 } });
  for (const { model: name, maxTokens: max_tokens, system, messages } of model.asked) {
    expect(firstViolation({ model: name, max_tokens, system, messages }, GROUNDS)).toBeUndefined();
    expect([name, max_tokens]).toEqual(['summariser', 700]);
    expect(estimateText(system) + estimateText(String(messages[0]?.content))).toBeLessThan(10_000 / 1.6);
  }
});

test.each<[string, string, Window, Reply[], calls: number]>([
  ['there is nothing but the pending message', 'nothing_to_compact', windowOf([]), [SUMMARY], 0],
  ['there is nothing but an earlier summary', 'nothing_to_compact', windowOf([], OLDER), [SUMMARY], 0],
  ['the call is refused', 'refused', windowOf(turns(30)), [{ failure: 'x' }], 1],
  ['the second call is refused', 'refused', windowOf(turns(2_000)), [SUMMARY, { failure: 'x' }], 2],
  ['the answer of the second half is empty', 'useless', windowOf(turns(2_000)), [SUMMARY, ' ', SUMMARY], 2],
  ['little would be gained', 'did_not_shrink', windowOf(turns(11, 232)), [SUMMARY], 0],
])('compaction fails when %s, with the reason %s', async (_, reason, window, replies, calls) => {
  const model = scripted(...replies);
  expect(await run(window, model)).toMatchObject({ ok: false, reason, calls });
  if (reason === 'refused') expect(model.asked).toHaveLength(calls + 1);
});

test('for any window, a summary of any length gives a request that is smaller and ends with the question', async () => {
  const large = fc
    .tuple(anyRecords, fc.integer({ min: 1, max: 60 }))
    .map(([record, times]) => new Array<LogRecord>(times).fill(record));
  const windows = fc
    .tuple(heads, fc.array(large, { maxLength: 8 }), fc.array(plainRecords, { maxLength: 6 }))
    .map(([head, before, after]): Window => windowOf([...before.flat(), ...turns(8), ...after], head));
  const figures = [fc.integer({ min: 1_000, max: 20_000 }), fc.integer({ min: 1, max: 9 })] as const;
  let accepted = 0;
  await forCasesAsync(100, [windows, ...figures], async (window, limitTokens, times) => {
    const model = scripted(`${SUMMARY}\n`.repeat(times));
    const outcome = await run(window, model, { limitTokens });
    expect(model.asked.length).toBeLessThanOrEqual(2);
    if (!outcome.ok) return;
    accepted += 1;
    const { head, changes, tokensAfter, tokensBefore } = outcome;
    expect(tokensAfter).toBeLessThanOrEqual(tokensBefore * 0.8);
    const messages = view({ head, records: [...window.records.slice(head.records), ...changes], omitted: 0 });
    expect(messages.at(-1)?.content.at(-1)).toEqual({ type: 'text', text: PENDING_TEXT });
    expect(JSON.stringify(model.asked)).not.toContain(PENDING_TEXT);
  });
  expect(accepted).toBeGreaterThan(45);
});
