import { expect, test } from '@jest/globals';
import type { Model, ModelRequest, ModelResult } from '../../../../worker/model/port.ts';
import { summarise } from '../../../../worker/recovery/summarise.ts';
import { compactionBy } from '../../../fixture/compaction.ts';

const CHUNKS = ['What was said first.', 'What was said then.'];
const NOTHING_BEFORE = { previous: '', unseen: 0, done: undefined };
const LONG_TEXT = 'They spoke of many things, one after the other. '.repeat(40);
const CUT = '[The summary was cut here.]';
const ABORTED: ModelResult = { ok: false, failure: { kind: 'transient', reason: 'aborted' } };

/** A model that writes a text at once, and then nothing more until it is stopped. */
function endless(text: string): Model & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    asked,
    countTokens: async () => undefined,
    limits: async () => ({ windowTokens: 10_000 }),
    async send(request, signal, onText) {
      asked.push(request);
      onText?.(text);
      const trickle = setInterval(() => onText?.(text), 5);
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      clearInterval(trickle);
      return ABORTED;
    },
  };
}

function summaryBy(model: Model, chunks: string[], within?: number, signal = new AbortController().signal) {
  const untilMs = within === undefined ? Number.POSITIVE_INFINITY : performance.now() + within;
  const { summariser } = compactionBy(model, { summariser: { untilMs, fallbackName: 'other' } });
  return summarise(summariser, { chunks }, NOTHING_BEFORE, signal);
}

test('what was written when the time is over is the summary, and says that it was cut', async () => {
  const model = endless(LONG_TEXT);
  const written = await summaryBy(model, CHUNKS.slice(0, 1), 60);
  expect(written).toMatchObject({ ok: true, written: { summary: `${LONG_TEXT.trim()}\n${CUT}`, calls: 1 } });
  expect(model.asked).toHaveLength(1);
});

test('each of two parts has its share of the time', async () => {
  const model = endless(LONG_TEXT);
  const startedMs = performance.now();
  const written = await summaryBy(model, CHUNKS, 1_000);
  expect(written).toMatchObject({ ok: true, written: { chunks: 2, calls: 2 } });
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
});

test('a few words are no summary: it was too slow', async () => {
  expect(await summaryBy(endless('They'), CHUNKS, 60)).toMatchObject({
    ok: false,
    failed: { reason: 'too_slow', calls: 1 },
  });
});

test('what was written when the message was taken away is no summary', async () => {
  const cut = new AbortController();
  const asked = summaryBy(endless(LONG_TEXT), CHUNKS, 10_000, cut.signal);
  setImmediate(() => cut.abort());
  expect(await asked).toMatchObject({ ok: false, failed: { reason: 'call_failed' } });
});
