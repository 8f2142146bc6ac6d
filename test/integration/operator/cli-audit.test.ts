import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { keysOf } from '../../../shared/redis/keys.ts';
import type { AuditEvent } from '../../../shared/state/lane/record-streams.ts';
import type { RollUp } from '../../../worker/report/roll-up.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, start, stopGateways, world } from '../../fixture/each-test.ts';
import { conversation } from '../../fixture/history.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { ask, givenLines } from '../../fixture/whole-chat.ts';

eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

function audit(...args: string[]) {
  return runCli(['audit', ...args], world.env);
}

test('audit sums up outcomes, recoveries, tokens and cost, and exits 1 when a message has no outcome', async () => {
  await givenLines(conversation(100, 1_000));
  await start();
  await ask('What did we decide?');
  await ask('/help', 2);
  await stopGateways();
  const { code, stdout } = await audit('--days', '1', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    days: 1,
    proof: { accepted: 2, settled: 2, pending: 0, unaccounted: 0 },
    outcomes: { total: 2, byOutcome: { answered: 1, command: 1 } },
    recoveries: { 0: 1, 1: 1 },
    latencyMs: { answered: 1 },
    contextSafety: { exceeded: { token: { refused: 1 } }, compacted: 1, newSessions: 0 },
    tokens: { answer: expect.any(Object), summary: expect.any(Object) },
    cost: {
      byPurpose: { answer: expect.any(Number), summary: expect.any(Number) },
      byModel: expect.any(Object),
      unpricedModels: [],
    },
    topChats: [{ chat: String(CHAT), messages: 2, calls: expect.any(Number), dollars: expect.any(Number) }],
  });
  const booked = Object.values(JSON.parse(stdout).tokens.answer as Record<string, { calls: number }>);
  const billed = mainCalls().filter(({ status }) => status === 200);
  expect(booked.reduce((sum, { calls }) => sum + calls, 0)).toBe(billed.length);
  const words = await audit();
  expect(words.stdout).toMatch(/accepted 2 - settled 2 - pending 0 = 0/);
  expect(words.stdout).toMatch(/Exceeded, token +refused 1/);
  expect(words.stdout).toMatch(new RegExp(`Most expensive chats\\n.*\\n {2}${CHAT} +2 `));
  expect(words.stdout).toMatch(/Cost +\$\d+\.\d+[\s\S]*By purpose: (?:answer|summary) \$\d/);
  await world.peek.hincrby(world.keys.counts, 'accepted', 1);
  const short = await audit();
  expect(short.code).toBe(1);
  expect(short.stdout).toMatch(/= 1\n {2}1 message got no outcome \(shard 0\): see the runbook/);
});

test('audit uses the prices in MODEL_PRICES_FILE, and exits 2 when the file is malformed', async () => {
  const event = { ...ANSWERED, model: 'llama', inputTokens: 2_000_000, outputTokens: 0, cacheReadTokens: 0 };
  await rolledUp([], [event]);
  expect((await audit()).stdout).toMatch(/no price is known for llama/);
  const file = join(await temporaryFolder(), 'prices.json');
  world.env.MODEL_PRICES_FILE = file;
  await writeFile(file, '{"llama":{"input":3,"output":1,"cacheRead":1,"cacheWrite5m":1,"cacheWrite1h":1}}');
  expect((await audit()).stdout).toMatch(/Cost +\$6\.00[\s\S]*By purpose: answer \$6\.00/);
  await writeFile(file, '{"llama":{"input":"cheap"}}');
  const stderr = expect.stringMatching(/MODEL_PRICES_FILE is malformed:\nllama\.input: /);
  expect(await audit()).toMatchObject({ code: 2, stderr });
});

test('audit exits 1 when two shards are off by opposite amounts, and names both', async () => {
  world.env.SHARDS = '2';
  await world.peek.hset(keysOf(0).counts, 'accepted', 1);
  await world.peek.hset(keysOf(1).counts, 'accepted', 0, 'settled', 1);
  const { code, stdout } = await audit('--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout).proof).toMatchObject({ unaccounted: 0, failedShards: [0, 1] });
  expect((await audit()).stdout).toMatch(/2 shards do not add up, although their sum does \(shard 0, 1\)/);
  expect((await runCli(['status'], world.env)).stdout).toMatch(/2 shards do not add up, .* \(shard 0, 1\)\./);
});

test('audit reads more than a page of outcomes, and counts damaged records as unreadable', async () => {
  const record = { outcome: 'answered', attempts: 1, recoveries: 0, settledAtMs: 1, traceId: '' };
  const call = { purpose: 'answer', model: 'm', billed: true };
  const withoutUsage = ['model.answered', 'model.failed'].map((event) => JSON.stringify({ event, ...call }));
  const pipeline = world.peek.pipeline().xadd(world.keys.outcomes, '*', 'outcome', 'failed');
  for (const event of ['{"torn', 'null', ...withoutUsage]) pipeline.xadd(world.keys.events, '*', 'record', event);
  for (let n = 0; n < 2_345; n++) pipeline.xadd(world.keys.outcomes, '*', 'record', JSON.stringify(record));
  await pipeline.exec();
  const { code, stdout } = await audit('--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ outcomes: { total: 2_345 }, unreadable: 5, tokens: {} });
  expect((await audit()).stdout).toMatch(/Unreadable +5 records/);
});

const BASE = { entry: '1-0', traceId: 't', settledAtMs: 10_000, attempts: 1, recoveries: 0 };

/** The figures of the audit of records that are written first. */
async function rolledUp(outcomes: readonly object[], events: readonly AuditEvent[] = []): Promise<RollUp> {
  const pipeline = world.peek.pipeline();
  for (const each of outcomes) pipeline.xadd(world.keys.outcomes, '*', 'record', JSON.stringify({ ...BASE, ...each }));
  for (const each of events) pipeline.xadd(world.keys.events, '*', 'record', JSON.stringify(each));
  await pipeline.exec();
  return JSON.parse((await audit('--json')).stdout) as RollUp;
}

test('latency covers only answers with a known send time, and is never negative', async () => {
  const answered = Array.from({ length: 100 }, (_, at) => ({ outcome: 'answered', sentAtMs: 10_000 - at * 10 }));
  expect((await rolledUp([])).latencyMs).toEqual({ answered: 0, p50: 0, p95: 0, p99: 0 });
  const others = [
    { outcome: 'answered' },
    { outcome: 'failed', sentAtMs: 0 },
    { outcome: 'answered', sentAtMs: 99_999 },
  ];
  expect((await rolledUp([...answered, ...others])).latencyMs).toEqual({ answered: 101, p50: 490, p95: 940, p99: 980 });
});

const MOVE = { entries: 1, from: 'a', to: 'b', isTrial: false, hasSummary: true };
const SCRUBBED = { event: 'context.scrubbed', action: 'scrub', kind: 'wire' } as const;
const EXCEEDED = { event: 'context.exceeded', stage: 'none', reason: 'token_limit' } as const;
const EVENTS: readonly AuditEvent[] = [
  { ...EXCEEDED, phase: 'counted', kind: 'token' },
  { ...EXCEEDED, phase: 'refused', kind: 'token' },
  { ...EXCEEDED, phase: 'refused', kind: 'wire' },
  { event: 'context.compacted', tokensBefore: 9, tokensAfter: 1, calls: 2, summaryChars: 3 },
  { event: 'context.compaction-failed', reason: 'empty_summary', calls: 1 },
  { event: 'context.force-pruned', tokensBefore: 9, tokensAfter: 1 },
  { event: 'context.new-session', ...MOVE, seedChars: 2, bytesRead: 3, tookMs: 4 },
  { ...SCRUBBED, parts: 2, bytes: 100 },
  { ...SCRUBBED, parts: 1, bytes: 50 },
  { event: 'context.thinking-dropped', reason: 'thinking_signature' },
  { event: 'context.output-lowered', maxOutputTokens: 5 },
  { event: 'context.gave-up', reason: 'prompt_too_long' },
  { event: 'message.capped', kind: 'tool_result', chars: 9 },
  { event: 'request.invalid', rule: 'tool-pairs' },
  { event: 'session.torn', records: 3 },
];

const model = 'claude-opus-5-5';
const MILLION = 1_000_000;
const UNCACHED = { inputTokens: MILLION, outputTokens: 100_000, cacheReadTokens: 0, cacheWriteTokens: 0 };
const SPENT = { inputTokens: 50_000, outputTokens: 0, cacheReadTokens: 0 };
const CACHED = {
  ...{ ...UNCACHED, cacheReadTokens: 500_000, cacheWriteTokens: 500_000 },
  ...{ cacheWrite1hTokens: 100_000, thinkingTokens: 9 },
};
const ANSWERED = { event: 'model.answered', purpose: 'answer' } as const;
const SUMMARY = { event: 'model.answered', purpose: 'summary', model: 'claude-haiku-5-5' } as const;
const FAILED = { event: 'model.failed', purpose: 'answer', model } as const;
const CALLS: readonly (AuditEvent & { chat?: string })[] = [
  { ...ANSWERED, model, ...CACHED, chat: '2' },
  { ...ANSWERED, model: 'anthropic/claude-opus-5.5', ...SPENT },
  { ...SUMMARY, ...SPENT },
  { ...SUMMARY, ...UNCACHED },
  { ...ANSWERED, purpose: 'probe', model: 'llama', ...SPENT, chat: '1' },
  { ...FAILED, reason: 'timeout', billed: true, ...UNCACHED },
  { ...FAILED, purpose: 'summary', reason: 'overloaded', billed: false, ...SPENT, chat: '3' },
];

test('counts each event in its own figure, and the cost of each call by purpose, model and chat', async () => {
  const { contextSafety, cost, tokens, failedCalls, topChats } = await rolledUp([], [...EVENTS, ...CALLS]);
  expect(contextSafety).toEqual({
    ...{ exceeded: { token: { counted: 1, refused: 1 }, wire: { refused: 1 } }, tornRecords: 3 },
    ...{ compacted: 1, compactionFailed: { empty_summary: 1 }, forcePruned: 1, newSessions: 1, thinkingDropped: 1 },
    ...{ scrubbed: { wire: { messages: 2, parts: 3, bytes: 150 } }, outputLowered: 1, gaveUp: 1 },
    ...{ capped: { tool_result: 1 }, invalid: { 'tool-pairs': 1 } },
  });
  // 0.1 read + 2 written for 5 minutes + 0.8 for an hour + 2 of output, and 0.2; 0.005 and, beyond 100,000 tokens, 0.75.
  expect(cost).toEqual({
    dollars: 11.855,
    byPurpose: { answer: 5.1, summary: 0.755, retry: 6 },
    byModel: { 'claude-opus-5-5': 10.9, 'claude-haiku-5-5': 0.755, 'anthropic/claude-opus-5.5': 0.2 },
    unpricedModels: ['llama'],
  });
  // Billed calls without an answer.
  expect(tokens.retry?.[model]).toMatchObject({ calls: 1, inputTokens: MILLION, dollars: 6 });
  expect(tokens.probe?.llama).not.toHaveProperty('dollars');
  expect(tokens.summary?.['claude-haiku-5-5']).toMatchObject({
    calls: 2,
    inputTokens: 1_050_000,
    outputTokens: 100_000,
  });
  expect(tokens.answer?.[model]).toMatchObject(CACHED);
  expect(failedCalls).toEqual({ byReason: { timeout: 1, overloaded: 1 }, billed: 1 });
  expect(topChats.map(({ chat, calls }) => [chat, calls])).toEqual([
    ['2', 1],
    ['1', 1],
  ]);
});
