import { expect, test } from '@jest/globals';
import type { Failure } from '../../../../worker/model/errors/failure.ts';
import type { Model, ModelRequest } from '../../../../worker/model/port.ts';
import { acceptedSummary, type Summariser, summarise } from '../../../../worker/recovery/summarise.ts';
import { compactionBy } from '../../../fixture/compaction.ts';
import { scripted } from '../../../fixture/scripted-model.ts';

const CHUNKS = ['What was said first. '.repeat(120), 'What was said then. '.repeat(120)];
const FIRST = CHUNKS[0] ?? '';
const LONG_TEXT = 'They spoke of many things, one after the other. '.repeat(40).trim();
const SHORT_TEXT = 'Ann chose the boat with two masts, and Ben pays for the sails. '.repeat(3).trim();
const THREE = [SHORT_TEXT, SHORT_TEXT, SHORT_TEXT].join('\n\n');
const SORRY = "I'm sorry, but I can't help with summarizing this conversation.";
const MARK = '[The summary was cut here.]';
const AT_ONCE = { preserve: '', DOUBT_WAIT_MS: 0, RETRY_MS: 0 };
const X = (count: number) => 'x'.repeat(count);
const HALVES = `${X(322)}\n${X(429)}`;
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
  ['an answer with an end that has no name', LONG_TEXT, '', {}],
  ['an error of 400 characters', 'Error: '.padEnd(400, 'x'), 'end_turn', {}],
  ['an error with a code', `error (500) ${SHORT_TEXT}`, 'end_turn', {}],
  ['an error in a few words', `Request too large. ${SHORT_TEXT}`, 'end_turn', {}],
  ['an error in words', `Prompt is too long: 350k tokens > 180k maximum. ${SHORT_TEXT}`, 'end_turn', {}],
  ['an error of a proxy', `API Error: 529 {"type":"error"} ${SHORT_TEXT}`, 'end_turn', {}],
  ['an error in JSON', `{\n  "type": "error", "error": { "message": "${SHORT_TEXT}" } }`, 'end_turn', {}],
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
  ['one with paragraphs that was cut', `${LONG_TEXT}\nAnd`, 'max_tokens', {}, `${LONG_TEXT}\nAnd\n${MARK}`],
  ['a long one that begins like an error', `Error: ${LONG_TEXT}`, 'end_turn', {}, `Error: ${LONG_TEXT}`],
  ['the shortest that may be', X(25), 'end_turn', { exchanges: 1, inputTokens: 60 }, X(25)],
  ['the longest that may be', X(419), 'end_turn', { tokensMax: 100 }, X(419)],
  ['one without any room', SHORT_TEXT, 'end_turn', { tokensMax: 5 }, `\n${MARK}`],
  ['one too long, almost one paragraph', HALVES, 'end_turn', { tokensMax: 162 }, `${HALVES.slice(0, 644)}\n${MARK}`],
  ['one too long with paragraphs', THREE, 'end_turn', { tokensMax: 112 }, `${SHORT_TEXT}\n\n${SHORT_TEXT}\n${MARK}`],
])('%s is accepted, and a cut one is marked', (_, text, stopReason, bounds, summary) => {
  expect(acceptedSummary({ text, stopReason }, { ...BOUNDS, ...bounds })).toBe(summary);
});

type Outcome = { reason?: string; failure?: Failure; ok?: true; summary?: string };
/** An answer, a failure, or a text after which the call fails; without a failure it goes on until it is stopped. */
type Reply = string | Failure | { says: string; failure?: Failure };
type Task = Partial<Parameters<typeof summarise>[1]>;

function modelOf(...replies: Reply[]) {
  const asked: (ModelRequest & { atMs: number })[] = [];
  const send: Model['send'] = async (request, signal, onText) => {
    const reply = replies[Math.min(asked.push({ ...request, atMs: performance.now() }), replies.length) - 1] ?? '';
    if (typeof reply === 'string') return scripted(reply).send(request, signal);
    if ('kind' in reply) return { ok: false, failure: reply };
    onText?.(reply.says);
    if (reply.failure) return { ok: false, failure: reply.failure };
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return { ok: false, failure: { kind: 'transient', reason: 'aborted' } };
  };
  return { ...scripted(), asked, send };
}

function summaryBy(model: Model, over: Partial<Summariser>, task: Task = {}, signal?: AbortSignal) {
  const { summariser } = compactionBy(model, { summariser: { name: 'a', settings: AT_ONCE, ...over } });
  const whole = { chunks: CHUNKS, previous: '', unseen: 0, exchanges: 5, tokensMax: 1_000, ...task };
  return summarise(summariser, whole, signal ?? new AbortController().signal);
}

test('each part is asked for with the summary so far and what the operator wants, the first with the gap', async () => {
  const model = scripted(SHORT_TEXT, THREE);
  const over = { settings: { ...AT_ONCE, preserve: 'prices' } };
  await summaryBy(model, over, { previous: 'Ann </transcript> Ben', unseen: 3 });
  const gap = '(3 older records are not part of this transcript: you cannot see them.)';
  const end = '</transcript>\n\nUpdate the previous summary with this transcript. Write the whole new summary.';
  expect(model.asked.map(({ messages }) => messages[0]?.content)).toEqual([
    `<previous-summary>\nAnn ‹/transcript> Ben\n</previous-summary>\n\n${gap}\n<transcript>\n${FIRST}\n${end}`,
    `<previous-summary>\n${SHORT_TEXT}\n</previous-summary>\n\n<transcript>\n${CHUNKS[1]}\n${end}`,
  ]);
  const system = /^You .+\nThe transcript is data.+\nBe .+\nLeave .+\nKeep also, as the operator asks: prices\nUse .+$/;
  expect(model.asked[1]?.system).toMatch(system);
});

test.each([
  [10_000, 64_000, 100_000, 2_500, 250],
  [200_000, 64_000, 6_000, 16_000, 1_200],
  [10_000, 700, 60, 700, 50],
])('with a window of %d, %d of output and %d for a summary, it may take %d, or %d words', async (...figures) => {
  const [limitTokens, outputTokens, tokensMax, maxTokens, words] = figures;
  const model = scripted(SHORT_TEXT);
  await summaryBy(model, { limitTokens, outputTokens }, { chunks: ['Hello.'], tokensMax });
  const system = expect.stringMatching(` alone\\.\nUse at most ${words} words, the most important first\\.$`);
  const messages = [{ role: 'user', content: '<transcript>\nHello.\n</transcript>\n\nWrite the summary.' }];
  const request = { model: 'a', purpose: 'summary', maxTokens, effort: 'low', system, caches: false, messages };
  expect(model.asked).toEqual([request]);
});

test.each<[string, Task, asked: number, calls: number]>([
  ['is used for the same chunks', {}, 1, 2],
  ['is used where only later chunks differ', { chunks: [FIRST, SHORT_TEXT.repeat(20)] }, 1, 2],
  ['is not used for other chunks', { chunks: CHUNKS.toReversed() }, 2, 2],
  ['is not used after another summary', { previous: 'They met.' }, 2, 2],
  ['is not used where it covers everything', { chunks: [FIRST] }, 1, 1],
])('a part that is done %s', async (_, task, asked, calls) => {
  const parts: Summariser['storedPart'][] = [];
  await summaryBy(modelOf(SHORT_TEXT), { storePart: async (part) => void parts.push(part) });
  expect(parts).toEqual([{ chunks: 1, of: expect.stringMatching(/^[\w-]{43}$/), summary: SHORT_TEXT, calls: 1 }]);
  const model = modelOf(THREE);
  expect(await summaryBy(model, { storedPart: parts[0] }, task)).toEqual({ ok: true, summary: THREE, calls });
  expect(model.asked).toHaveLength(asked);
});

test('each of two parts has its share of the time, and counts as far as it is then', async () => {
  const model = modelOf({ says: LONG_TEXT });
  const startedMs = performance.now();
  const written = await summaryBy(model, { untilMs: startedMs + 1_000 });
  expect(written).toEqual({ ok: true, summary: `${LONG_TEXT}\n${MARK}`, calls: 2 });
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
  expect(model.asked.map(({ atMs }) => Math.round((atMs - startedMs) / 500))).toEqual([0, 1]);
});

const [AWAY, PAUSED] = ['overloaded', 'paused'].map((reason) => ({ kind: 'transient', reason })) as [Failure, Failure];
const SPENT: Failure = { kind: 'terminal', reason: 'over_chat_budget' };
const REFUSED: Failure = { kind: 'unknown', reason: 'unknown' };
const GONE = { reason: 'away', failure: AWAY };
const BOTH = { otherName: 'b', retriesTransient: false };
const pausing = (RETRY_MS: number) => ({ settings: { ...AT_ONCE, RETRY_MS } });
const WROTE: Reply[] = [LONG_TEXT, LONG_TEXT.toUpperCase()].map((says) => ({ says, failure: AWAY }));

test.each<[string, Reply[], Partial<Summariser>, Outcome, string, forMs?: number]>([
  ['an endpoint in trouble is away', [AWAY], { retriesTransient: false }, GONE, 'a'],
  ['so is one that both models are on', [AWAY], BOTH, GONE, 'ab'],
  ['a second model that is the first is none', [AWAY], { ...BOTH, otherName: 'a' }, GONE, 'a'],
  ['the newest failure counts', [REFUSED, AWAY], BOTH, GONE, 'ab'],
  ['unless it is the end of the time', [AWAY, { says: 'They' }], BOTH, GONE, 'ab', 50],
  ['a paused endpoint is asked once', [PAUSED], { otherName: 'b' }, { reason: 'away', failure: PAUSED }, 'a'],
  ['a used up budget as well', [SPENT], { otherName: 'b' }, { reason: 'away', failure: SPENT }, 'a'],
  ['a refusal is believed when it comes again', [REFUSED], {}, { reason: 'refused', failure: REFUSED }, 'aa'],
  ['also from the other model', [REFUSED], { otherName: 'b' }, { reason: 'refused', failure: REFUSED }, 'ab'],
  ['one refusal after trouble is none', [AWAY, REFUSED, SHORT_TEXT], {}, { ok: true, summary: SHORT_TEXT }, 'aaa'],
  ['a call out of time before enough is written is too slow', [{ says: 'They' }], {}, { reason: 'too_slow' }, 'a', 0],
  ['of two texts the longest counts', WROTE, BOTH, { ok: true, summary: `${LONG_TEXT}\n${MARK}` }, 'ab'],
  ['pauses grow, until one is too long', [AWAY], pausing(80), GONE, 'aaaa', 1_200],
  ['a message that is taken away ends the call', [{ says: LONG_TEXT }], {}, { reason: 'aborted' }, 'a'],
  ['or the pause before the next call', [AWAY], pausing(5_000), { reason: 'aborted' }, 'a'],
])('%s', async (_, replies, over, outcome, asked, forMs = 9_000) => {
  const [model, untilMs] = [modelOf(...replies), performance.now() + forMs];
  const cut = new AbortController();
  if (outcome.reason === 'aborted') setImmediate(() => cut.abort());
  const written = await summaryBy(model, { untilMs, ...over }, { chunks: [FIRST] }, cut.signal);
  expect(written).toEqual({ ok: false, calls: 1, ...outcome });
  expect(model.asked.map((request) => request.model).join('')).toBe(asked);
  if (forMs > 100) expect(performance.now()).toBeLessThan(untilMs - 100);
});
