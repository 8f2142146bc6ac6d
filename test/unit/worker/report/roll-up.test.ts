import { expect, test } from '@jest/globals';
import type { AuditEvent } from '../../../../worker/lane/events.ts';
import type { OutcomeRecord } from '../../../../worker/lane/lane.ts';
import { createRollUp } from '../../../../worker/report/roll-up.ts';

const BASE = { entry: '1-0', traceId: 't', settledAtMs: 10_000, attempts: 1, recoveries: 0 } as OutcomeRecord;

function rolledUp(outcomes: readonly Partial<OutcomeRecord>[], events: readonly AuditEvent[] = []) {
  const builder = createRollUp();
  for (const outcome of outcomes) builder.addOutcome({ ...BASE, ...outcome });
  for (const event of events) builder.addEvent(event);
  return builder.result();
}

test('latency covers only answers with a known send time, and is never negative', () => {
  const answered = Array.from(
    { length: 100 },
    (_, at) => ({ outcome: 'answered', sentAtMs: 10_000 - at * 10 }) as const,
  );
  const { latencyMs } = rolledUp([
    ...answered,
    { outcome: 'answered' },
    { outcome: 'failed', sentAtMs: 0 },
    { outcome: 'answered', sentAtMs: 99_999 },
  ]);
  expect(latencyMs).toEqual({ answered: 101, p50: 490, p95: 940, p99: 980 });
  expect(rolledUp([]).latencyMs).toEqual({ answered: 0, p50: 0, p95: 0, p99: 0 });
});

const MOVE = { entries: 1, from: 'a', to: 'b', isTrial: false, hasSummary: true };
const NEW_SESSION = { event: 'context.new-session', ...MOVE, seedChars: 2, bytesRead: 3, tookMs: 4 } as const;

test('counts each event of the audit trail in its own figure', () => {
  const { contextSafety, tokens } = rolledUp(
    [],
    [
      { event: 'context.exceeded', phase: 'counted', kind: 'token', stage: 'none', reason: 'token_limit' },
      { event: 'context.exceeded', phase: 'refused', kind: 'token', stage: 'none', reason: 'token_limit' },
      { event: 'context.exceeded', phase: 'refused', kind: 'wire', stage: 'none', reason: 'token_limit' },
      { event: 'context.compacted', tokensBefore: 9, tokensAfter: 1, calls: 2, summaryChars: 3 },
      { event: 'context.compaction-failed', reason: 'empty_summary', calls: 1 },
      { event: 'context.force-pruned', tokensBefore: 9, tokensAfter: 1 },
      NEW_SESSION,
      { event: 'context.scrubbed', action: 'scrub', kind: 'wire', parts: 2, bytes: 100 },
      { event: 'context.scrubbed', action: 'scrub', kind: 'wire', parts: 1, bytes: 50 },
      { event: 'context.thinking-dropped', reason: 'thinking_signature' },
      { event: 'context.output-lowered', maxOutputTokens: 5 },
      { event: 'context.gave-up', reason: 'prompt_too_long' },
      { event: 'message.capped', kind: 'tool_result', chars: 9 },
      { event: 'request.invalid', rule: 'tool-pairs' },
      { event: 'session.torn', records: 3 },
      { event: 'model.answered', purpose: 'answer', model: 'm', inputTokens: 10, outputTokens: 2, cacheReadTokens: 5 },
      { event: 'model.answered', purpose: 'answer', model: 'm', inputTokens: 20, outputTokens: 3, cacheReadTokens: 15 },
    ],
  );
  expect(contextSafety).toEqual({
    exceeded: { token: { counted: 1, refused: 1 }, wire: { refused: 1 } },
    compacted: 1,
    compactionFailed: { empty_summary: 1 },
    forcePruned: 1,
    newSessions: 1,
    scrubbed: { wire: { messages: 2, parts: 3, bytes: 150 } },
    thinkingDropped: 1,
    outputLowered: 1,
    gaveUp: 1,
    capped: { tool_result: 1 },
    invalid: { 'tool-pairs': 1 },
    tornRecords: 3,
  });
  const none = { cacheWriteTokens: 0, cacheWrite1hTokens: 0, searches: 0, thinkingTokens: 0 };
  expect(tokens).toEqual({
    answer: { m: { calls: 2, inputTokens: 30, outputTokens: 5, cacheReadTokens: 20, ...none } },
  });
});

const MILLION = 1_000_000;

test('sums the cost of each call by purpose; billed calls without an answer have the purpose retry', () => {
  const model = 'claude-opus-5-5';
  const usage = { inputTokens: MILLION, outputTokens: 100_000, cacheReadTokens: 500_000, cacheWriteTokens: 500_000 };
  const uncached = { ...usage, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const spent = { inputTokens: 50_000, outputTokens: 0, cacheReadTokens: 0 };
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };
  const { cost, tokens, failedCalls } = rolledUp(
    [],
    [
      { event: 'model.answered', purpose: 'answer', model, ...usage, cacheWrite1hTokens: 100_000, thinkingTokens: 9 },
      { event: 'model.answered', purpose: 'answer', model: 'anthropic/claude-opus-5.5', ...spent },
      { event: 'model.answered', purpose: 'summary', model: 'claude-haiku-5-5', ...spent },
      { event: 'model.answered', purpose: 'summary', model: 'claude-haiku-5-5', ...uncached },
      { event: 'model.answered', purpose: 'probe', model: 'llama', ...spent },
      { event: 'model.failed', purpose: 'answer', model, reason: 'timeout', billed: true, ...uncached },
      { event: 'model.failed', purpose: 'summary', model, reason: 'overloaded', billed: false, ...none },
    ],
  );
  // 0.1 read + 2 written for 5 minutes + 0.8 for an hour + 2 of output, and 0.2; 0.005 and, beyond 100,000 tokens, 0.75.
  expect(cost).toEqual({
    dollars: 11.855,
    byPurpose: { answer: 5.1, summary: 0.755, retry: 6 },
    byModel: { 'claude-opus-5-5': 10.9, 'claude-haiku-5-5': 0.755, 'anthropic/claude-opus-5.5': 0.2 },
    unpricedModels: ['llama'],
  });
  expect(tokens.retry?.[model]).toMatchObject({ calls: 1, inputTokens: MILLION, dollars: 6 });
  expect(tokens.probe?.llama).not.toHaveProperty('dollars');
  expect(tokens.answer?.[model]).toMatchObject({
    cacheWriteTokens: 500_000,
    cacheWrite1hTokens: 100_000,
    thinkingTokens: 9,
  });
  expect(failedCalls).toEqual({ byReason: { timeout: 1, overloaded: 1 }, billed: 1 });
});

test('a usage without its counters is counted as unreadable, and changes no other sum', () => {
  const builder = createRollUp();
  for (const event of ['model.answered', 'model.failed'])
    builder.addEvent({ event, purpose: 'answer', model: 'm', billed: true });
  expect(builder.result()).toEqual({ ...createRollUp().result(), unreadable: 2 });
});

test('top chats are those that cost most, then those with most tokens; what names no chat is in none', () => {
  const builder = createRollUp();
  const usage = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0 };
  const call = { event: 'model.answered', purpose: 'answer', ...usage } as const;
  builder.addEvent({ ...call, model: 'llama', chat: '1' });
  builder.addEvent({ ...call, model: 'claude-opus-5-5', chat: '2' });
  builder.addEvent({ ...call, model: 'claude-opus-5-5' });
  builder.addEvent({ ...call, event: 'model.failed', reason: 'timeout', billed: false, model: 'llama', chat: '3' });
  const { topChats } = builder.result();
  expect(topChats.map(({ chat, calls }) => [chat, calls])).toEqual([
    ['2', 1],
    ['1', 1],
  ]);
});
