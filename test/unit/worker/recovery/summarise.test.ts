import { expect, test } from '@jest/globals';
import type { Failure } from '../../../../worker/model/errors/failure.ts';
import type { Model, ModelRequest, ModelResult } from '../../../../worker/model/port.ts';
import { acceptedSummary, type Summariser, summarise } from '../../../../worker/recovery/summarise.ts';
import { compactionBy } from '../../../fixture/compaction.ts';
import { scripted } from '../../../fixture/scripted-model.ts';

const CHUNKS = ['What was said first. '.repeat(120), 'What was said then. '.repeat(120)];
const LONG_TEXT = 'They spoke of many things, one after the other. '.repeat(40).trim();
const SHORT_TEXT = 'Ann chose the boat with two masts, and Ben pays for the sails. '.repeat(3).trim();
const THREE = [SHORT_TEXT, SHORT_TEXT, SHORT_TEXT].join('\n\n');
const SORRY = "I'm sorry, but I can't help with summarizing this conversation.";
const MARK = '[The summary was cut here.]';
const BOUNDS = { exchanges: 5, inputTokens: 900, tokensMax: 1_000 };

test.each<[string, string, string | null, Partial<typeof BOUNDS>]>([
  ['a dot', '.', 'end_turn', {}],
  ['"OK" for one short exchange', 'OK', 'end_turn', { exchanges: 1, inputTokens: 60 }],
  ['an empty answer', ' \n', 'end_turn', { exchanges: 0, inputTokens: 0 }],
  ['an apology for five exchanges', SORRY, 'end_turn', { inputTokens: 100 }],
  ['an apology for one long exchange', SORRY, 'end_turn', { exchanges: 1 }],
  ['a text as long as its input', LONG_TEXT, 'end_turn', { inputTokens: 400 }],
  ['a short text that was cut', SHORT_TEXT, 'max_tokens', {}],
  ['a refusal', LONG_TEXT, 'refusal', {}],
  ['a tool call', LONG_TEXT, 'tool_use', {}],
  ['an answer without an end', LONG_TEXT, null, {}],
  ['an error in words', `Prompt is too long: 350k tokens > 180k maximum. ${SHORT_TEXT}`, 'end_turn', {}],
  ['an error of a proxy', `API Error: 529 {"type":"error"} ${SHORT_TEXT}`, 'end_turn', {}],
  ['an error in JSON', `{"type":"error","error":{"message":"${SHORT_TEXT}"}}`, 'end_turn', {}],
  ['a page of an error', `<html><head><title>413 Too Large</title></head>${SHORT_TEXT}`, 'end_turn', {}],
  ['a status', `413 Request Entity Too Large ${SHORT_TEXT}`, 'end_turn', {}],
])('%s is no summary', (_, text, stopReason, bounds) => {
  expect(acceptedSummary({ text, stopReason }, { ...BOUNDS, ...bounds })).toBeUndefined();
});

test.each<[string, string, string, Partial<typeof BOUNDS>, string]>([
  ['a whole summary', ` ${SHORT_TEXT}\n`, 'end_turn', {}, SHORT_TEXT],
  ['one that ends at a stop sequence', SHORT_TEXT, 'stop_sequence', {}, SHORT_TEXT],
  ['one that talks about errors', `They saw Error: ${SHORT_TEXT}`, 'end_turn', {}, `They saw Error: ${SHORT_TEXT}`],
  ['a few words about little', 'Ben said hello.', 'end_turn', { exchanges: 0, inputTokens: 60 }, 'Ben said hello.'],
  ['a long one that was cut', LONG_TEXT, 'max_tokens', {}, `${LONG_TEXT}\n${MARK}`],
  ['one that the window cut', LONG_TEXT, 'model_context_window_exceeded', {}, `${LONG_TEXT}\n${MARK}`],
  ['one too long', THREE, 'end_turn', { tokensMax: 112 }, `${SHORT_TEXT}\n\n${SHORT_TEXT}\n${MARK}`],
])('%s is accepted, and a cut one is marked', (_, text, stopReason, bounds, summary) => {
  expect(acceptedSummary({ text, stopReason }, { ...BOUNDS, ...bounds })).toBe(summary);
});

test('a summary without paragraphs that is too long is cut where its room ends', () => {
  const cut = acceptedSummary({ text: 'x'.repeat(3_000), stopReason: 'end_turn' }, { ...BOUNDS, tokensMax: 500 });
  expect(cut).toMatch(/^x{1900,2100}\n\[The summary/);
});

/** A model that writes a text at once, and then nothing more until it is stopped. */
function endless(text: string): Model & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    ...scripted(),
    asked,
    async send(request, signal, onText) {
      asked.push(request);
      onText?.(text);
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return { ok: false, failure: { kind: 'transient', reason: 'aborted' } };
    },
  };
}

function summaryBy(model: Model, chunks: string[], over: Partial<Summariser>, signal = new AbortController().signal) {
  const { summariser } = compactionBy(model, { summariser: over });
  return summarise(summariser, { chunks, previous: '', unseen: 0, exchanges: 5, tokensMax: 1_000 }, signal);
}

test('each of two parts has its share of the time, and counts as far as it is then', async () => {
  const model = endless(LONG_TEXT);
  const startedMs = performance.now();
  const written = await summaryBy(model, CHUNKS, { untilMs: startedMs + 1_000 });
  expect(written).toEqual({ ok: true, summary: `${LONG_TEXT}\n${MARK}`, calls: 2 });
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
  expect(model.asked).toHaveLength(2);
});

test('what was written when the message was taken away is no summary', async () => {
  const cut = new AbortController();
  const asked = summaryBy(endless(LONG_TEXT), CHUNKS, {}, cut.signal);
  setImmediate(() => cut.abort());
  expect(await asked).toEqual({ ok: false, reason: 'aborted', calls: 1 });
});

const AWAY: Failure = { kind: 'transient', reason: 'overloaded' };
const PAUSED: Failure = { kind: 'transient', reason: 'paused' };
const SPENT: Failure = { kind: 'terminal', reason: 'over_chat_budget' };
const REFUSED: Failure = { kind: 'unknown', reason: 'unknown' };

test.each<[string, Failure[], Partial<Summariser>, object, string[]]>([
  ['an endpoint in trouble is away', [AWAY], { waitsOut: false }, { reason: 'away', failure: AWAY }, ['a']],
  ['so is one that both models are on', [AWAY], { waitsOut: false, otherName: 'b' }, { reason: 'away' }, ['a', 'b']],
  ['a paused endpoint is asked once', [PAUSED], { otherName: 'b' }, { reason: 'away', failure: PAUSED }, ['a']],
  ['a used up budget as well', [SPENT], { otherName: 'b' }, { reason: 'away', failure: SPENT }, ['a']],
  ['a refusal is believed when it comes again', [REFUSED], {}, { reason: 'refused', failure: REFUSED }, ['a', 'a']],
  ['also from the other model', [REFUSED], { otherName: 'b' }, { reason: 'refused' }, ['a', 'b']],
  ['one refusal after trouble is none', [AWAY, REFUSED], {}, { ok: true, calls: 1 }, ['a', 'a', 'a']],
  ['who asks no longer hears nothing', [], { untilMs: 0 }, { reason: 'too_slow' }, ['a']],
])('%s', async (_, failures, over, outcome, asked) => {
  const model = scripted(SHORT_TEXT);
  const names: string[] = [];
  const send: Model['send'] = async (request, signal, onText): Promise<ModelResult> => {
    const failure = failures[Math.min(names.push(request.model), failures.length) - 1];
    if (over.untilMs === 0) return endless('They').send(request, signal, onText);
    const isLast = failures.length > 1 && names.length > failures.length;
    return failure === undefined || isLast ? model.send(request, signal) : { ok: false, failure };
  };
  const settings = { preserve: '', doubtWaitMs: 0, retryMs: 0 };
  expect(await summaryBy({ ...model, send }, CHUNKS.slice(0, 1), { name: 'a', settings, ...over })).toMatchObject(
    outcome,
  );
  expect(names).toEqual(asked);
});
