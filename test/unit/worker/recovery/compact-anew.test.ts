import { expect, test } from '@jest/globals';
import { compact } from '../../../../worker/recovery/compact.ts';
import { compactionBy } from '../../../fixture/compaction.ts';
import { assistantSays, userSays } from '../../../fixture/records.ts';
import { type Reply, scripted } from '../../../fixture/scripted-model.ts';

/** So many exchanges of 400 characters, and a message that waits. */
const windowOf = (exchanges: number) => {
  const before = Array.from({ length: exchanges }, (_, n) => [
    userSays(`Question ${n}. ${'x'.repeat(200)}`),
    assistantSays(`Reply ${n}. ${'y'.repeat(200)}`),
  ]).flat();
  return { head: undefined, records: [...before, userSays('The question', { entry: '9-0' })], omitted: 0 };
};

function compacted(exchanges: number, ...replies: Reply[]) {
  const model = scripted(...replies);
  const options = compactionBy(model, { summariser: { fallbackName: 'other' } });
  return { model, result: compact(windowOf(exchanges), options, new AbortController().signal) };
}

test.each<[string, number, Reply]>([
  ['an empty summary', 30, ''],
  ['an error text', 30, '413 Request Entity Too Large'],
  ['a refusal', 30, { text: 'I cannot.', stopReason: 'refusal' }],
  ['an empty first half', 200, ''],
])('%s costs no conversation: the other model is asked for all of it', async (_, exchanges, useless) => {
  const { model, result } = compacted(exchanges, useless, 'They talked.');
  expect(await result).toMatchObject({ ok: true, compaction: { summary: 'They talked.', calls: 2 } });
  expect(model.asked.map((request) => request.model)).toEqual(['summariser', 'other']);
});

test('two useless summaries are enough', async () => {
  const { model, result } = compacted(30, '', ' ', 'Too late.');
  expect(await result).toMatchObject({ ok: false, failed: { reason: 'empty_summary', calls: 2 } });
  expect(model.asked).toHaveLength(2);
});
