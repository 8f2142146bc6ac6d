import { beforeEach, expect, test } from '@jest/globals';
import { METRIC, SPAN } from '../../../shared/base/telemetry.ts';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { CHAT, eachInWorld, mainCalls, spawn, trouble, world } from '../../fixture/each-test.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { scrape, untilMetrics } from '../../fixture/metrics.ts';
import { ask, givenLines } from '../../fixture/whole-chat.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';
import { type ExportedSpan, type OtlpStandIn, startOtlp } from '../../stand-in/otlp.ts';

const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
const REFUSED = { do: 'error', status: 400, type: 'invalid_request_error', message: 'unsupported thing' } as const;
const GONE = { status: 403, description: 'Forbidden: bot was blocked by the user' };

const ADR_NAMES = [
  'queue.context_overflow.detected',
  'queue.context_overflow.compacted',
  'queue.context_overflow.new_session',
  'queue.context_overflow.recovery_failed',
  'daemon.context_overflow.recovery',
];

let otlp: OtlpStandIn;

beforeEach(async () => {
  otlp = await startOtlp();
  cleanUps.push(() => otlp.close());
});
eachInWorld(() => ({
  claude: { windowTokens: 20_000, statedWindowTokens: 200_000 },
  env: {
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '400',
    // The SDK would put the words of both sides into its spans.
    ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE: 'content',
  },
}));

const named = (traceId: string, name: string) => otlp.trace(traceId).filter((span) => span.name === name);

/** Holds that each span that says anything of gen_ai says of which kind it is, of which conversation, where and how it ended. */
function expectWordsOfGenAi(trace: readonly ExportedSpan[]): void {
  const said = (name: string, attribute: string) =>
    new Set(trace.filter((span) => span.name === name).map(({ attributes }) => attributes[attribute]));
  const sessions = said(SPAN.turn, 'gen_ai.conversation.id');
  expect(sessions).toEqual(said(SPAN.turn, 'spillway.session'));
  // A summary continues no session.
  expect(said('anthropic.messages.create', 'gen_ai.conversation.id')).toEqual(new Set([...sessions, undefined]));
  expect(said('anthropic.messages.create', 'server.address')).toEqual(new Set(['127.0.0.1']));
  expect(said('anthropic.messages.create', 'server.port')).toEqual(new Set([Number(new URL(world.claude.url).port)]));
  const ends = [...said('anthropic.messages.create', 'gen_ai.response.finish_reasons')].flat();
  expect(new Set(ends)).toEqual(new Set(['error', 'tool_use', 'end_turn']));
  // A viewer that finds gen_ai without a kind makes one up.
  const inGenAi = trace.filter(({ attributes }) => Object.keys(attributes).some((key) => key.startsWith('gen_ai.')));
  const kinds = inGenAi.map(({ name, attributes }) => `${name}: ${attributes['gen_ai.operation.name']}`);
  expect([...new Set(kinds)].toSorted()).toEqual([
    'anthropic.messages.create: chat',
    'execute_tool recall: execute_tool',
    'turn: invoke_agent',
  ]);
}

test('a stage 2 recovery is one trace from update to reply, with the five overflow spans and their attributes', async () => {
  const gateway = await spawn();
  await givenLines(conversation(60, 1_000));
  const search = { type: 'tool_use', id: 't1', name: 'recall', input: { query: 'file-7.ts' } };
  world.claude.react((call) => {
    if (call.kind !== 'main' || isProbe(call)) return undefined;
    if (!isSeeded(call)) return { do: 'overflow' };
    return mainCalls().filter(isSeeded).length === 1 ? { do: 'answer', content: [search] } : undefined;
  });
  const { traceId } = await ask('Trace me, but not my words');
  await otlp.waitForSpan((span) => span.name === SPAN.settle && span.traceId === traceId);
  await gateway.stop();
  const trace = otlp.trace(traceId);
  const called = (name: string) => trace.filter((span) => span.name === name || span.name.startsWith(`${name} `));
  // It waited for nobody, ended soon, and nothing was killed.
  const sometimes: readonly string[] = [SPAN.remind, SPAN.laneWait, SPAN.started, SPAN.cut];
  const always = Object.values(SPAN).filter((name) => !sometimes.includes(name));
  for (const name of [...ADR_NAMES, ...always]) expect([name, called(name).length > 0]).toEqual([name, true]);
  expect(otlp.spans.filter((span) => ADR_NAMES.includes(span.name) && span.traceId !== traceId)).toEqual([]);
  expect(called(SPAN.turn).map((span) => span.attributes['spillway.verdict'])).toEqual([
    'again',
    'later',
    'again',
    'settle',
  ]);
  expect(called('anthropic.messages.create').length).toBeGreaterThanOrEqual(4);
  expect(called(SPAN.overflowDetected)[0]?.attributes).toMatchObject({
    'spillway.overflow.kind': 'token',
    'spillway.recovery.stage': 'none',
    'spillway.overflow.limit_tokens': 20_000,
    'spillway.overflow.observed_tokens': expect.any(Number),
  });
  for (const name of [SPAN.overflowNewSession, SPAN.overflowRecovery])
    expect(called(name)[0]?.attributes).toMatchObject({ has_summary: true, summary_length: expect.any(Number) });
  expectWordsOfGenAi(trace);
  expect(called(SPAN.receive)[0]).toMatchObject({
    kind: 'client',
    attributes: { 'messaging.operation.name': 'receive', 'messaging.destination.name': 'telegram' },
  });
  const roots = trace.filter((span) => !trace.some((other) => other.spanId === span.parentSpanId));
  expect(roots.map((span) => span.name)).toEqual([SPAN.receive]);
  expect(JSON.stringify(otlp.spans)).not.toContain('Trace me');
  const overflows = otlp.metrics
    .filter(({ name }) => name === METRIC.overflows)
    .map(({ attributes, value }) => ({ ...attributes, value }));
  expect(overflows).toEqual(
    expect.arrayContaining([
      { kind: 'token', stage: 'none', value: 1 },
      { kind: 'token', stage: 'compacted', value: 1 },
    ]),
  );
});

/** The spans of a plain turn, each with its parent. */
const PLAIN_TURN = [
  [SPAN.receive, undefined],
  [SPAN.turn, SPAN.receive],
  [SPAN.open, SPAN.turn],
  [SPAN.call, SPAN.turn],
  ['anthropic.messages.create', SPAN.call],
  [SPAN.deliver, SPAN.turn],
  [SPAN.telegram, SPAN.deliver],
  [SPAN.settle, SPAN.turn],
];

test('every emitted span is in the table, holds nothing of what was said, and each message has its own trace of eight', async () => {
  const gateway = await spawn();
  world.telegram.say(CHAT, 'one of my private words');
  world.telegram.say(CHAT, 'two of my private words');
  const traces = [(await nextOutcome(world, CHAT)).traceId, (await nextOutcome(world, CHAT, 2)).traceId];
  await gateway.stop();
  expect(new Set(traces).size).toBe(2);
  const table = new Set<string>([...Object.values(SPAN), 'anthropic.messages.create', 'anthropic.models.retrieve']);
  expect([...new Set(otlp.spans.map(({ name }) => name))].filter((name) => !table.has(name))).toEqual([]);
  expect(JSON.stringify(otlp.spans)).not.toContain('private words');
  for (const traceId of traces) {
    // It may have waited for 50 ms on a machine that does much else, or taken a second.
    const plain = otlp.trace(traceId).filter(({ name }) => name !== SPAN.laneWait && name !== SPAN.started);
    const parentOf = ({ parentSpanId }: ExportedSpan) => plain.find(({ spanId }) => spanId === parentSpanId)?.name;
    // What is read once is in the trace of the first message.
    const spans = plain.filter(({ name }) => name !== 'anthropic.models.retrieve');
    expect(spans.map((span) => [span.name, parentOf(span)]).toSorted()).toEqual(PLAIN_TURN.toSorted());
  }
});

test('a message that waited behind another shows that its lane held it up, and each call of Telegram is a span', async () => {
  const gateway = await spawn();
  world.claude.react(({ index }) => (index === 0 ? { do: 'answer', afterMs: 700 } : undefined));
  world.telegram.say(CHAT, 'One');
  await world.claude.waitForCall(({ index }) => index === 0);
  const { traceId } = await ask('Two', 2);
  await gateway.stop();
  expect(named(traceId, SPAN.laneWait).map(({ attributes }) => attributes['spillway.wait.reason'])).toContain('lane');
  const [deliver] = named(traceId, SPAN.deliver);
  const inside = named(traceId, SPAN.telegram).filter(({ parentSpanId }) => parentSpanId === deliver?.spanId);
  expect(inside.map(({ attributes }) => attributes['spillway.telegram.method'])).toEqual(['sendMessage']);
});

test('a head sampler decides for a whole trace, also across a restart, and whether or not it takes one all is counted', async () => {
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
  const gateway = await spawn(sampled);
  const answer = trouble({ do: 'hang' });
  for (let at = 0; at < 20; at++) world.telegram.say(CHAT + at, 'Hello');
  await world.claude.waitForCall(() => world.claude.inFlight() >= 8);
  gateway.kill('SIGKILL');
  await gateway.ended;
  answer();
  const next = await spawn(sampled);
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, at) => nextOutcome(world, CHAT + at)));
  await next.stop();
  const ends = outcomes.map(({ traceId }) => named(traceId, SPAN.settle).length);
  const shown = outcomes.map(({ traceId }) => otlp.trace(traceId).length > 0);
  expect(shown).toEqual(ends.map((count) => count === 1));
  expect(new Set(shown)).toEqual(new Set([true, false]));
  expect(new Set(outcomes.map(({ traceId }) => traceId)).size).toBe(20);
});

test('a turn is visible while it hangs; a kill -9 that cuts it, a postponed attempt, the wait and each call are spans', async () => {
  const gateway = await spawn();
  const reactions: Reaction[] = [{ do: 'hang' }, DOWN];
  world.claude.react(({ index }) => reactions[index]);
  world.telegram.say(CHAT, 'Hello');
  const started = await otlp.waitForSpan(({ name }) => name === SPAN.started);
  const received = await otlp.waitForSpan(({ name }) => name === SPAN.receive);
  // A name that does not tell whose chat it is.
  const chat = received.attributes['spillway.chat'];
  expect(chat).toMatch(/^[\da-f]{16}$/);
  expect(started.attributes).toMatchObject({ 'spillway.attempt': 1, 'spillway.chat': chat });
  expect(JSON.stringify(otlp.spans)).not.toContain(`"${CHAT}"`);
  gateway.kill('SIGKILL');
  await gateway.ended;
  const next = await spawn();
  const { traceId } = await nextOutcome(world, CHAT);
  await next.stop();
  const [cut, ...twice] = named(traceId, SPAN.cut);
  expect(twice).toEqual([]);
  expect(cut).toMatchObject({
    spanId: started.parentSpanId,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'spillway.attempt': 1 },
  });
  expect(cut?.startMs).toBeLessThanOrEqual(started.startMs);
  const turns = named(traceId, SPAN.turn);
  expect(turns.map(({ attributes }) => attributes)).toMatchObject([
    { 'spillway.verdict': 'later', 'spillway.reason': 'overloaded', 'spillway.retry.delay_ms': expect.any(Number) },
    { 'spillway.verdict': 'settle', 'spillway.outcome': 'answered' },
  ]);
  expect(turns.map(({ links }) => links[0]?.spanId)).toEqual([cut?.spanId, turns[0]?.spanId]);
  expect(turns.map(({ parentSpanId }) => parentSpanId)).toEqual([cut?.parentSpanId, cut?.parentSpanId]);
  expect(named(traceId, SPAN.laneWait).filter(({ endMs }) => endMs > started.startMs)).toEqual([]);
  const [wait, ...others] = named(traceId, SPAN.retryWait);
  expect([wait?.attributes['spillway.reason'], others]).toEqual(['overloaded', []]);
  expect((wait?.endMs ?? 0) - (wait?.startMs ?? 0)).toBeGreaterThan(100);
  const [failed, answered] = named(traceId, SPAN.call);
  expect(failed).toMatchObject({ status: { code: 'error' }, attributes: { 'error.type': 'overloaded' } });
  expect(answered?.attributes).toMatchObject({
    'spillway.stop_reason': 'end_turn',
    'spillway.purpose': 'answer',
    'spillway.cost.dollars': expect.closeTo(world.claude.calls.at(-1)?.usd ?? 0, 10),
  });
});

test('what fails fails its span: a message, a delivery, a call of a tool, without a name that the model made up', async () => {
  const gateway = await spawn({ TELEMETRY_CHAT_IDS: 'true' });
  await scrape(gateway);
  const invented = { type: 'tool_use', id: 't1', name: 'my_pin_is_491', input: {} };
  const search = { type: 'tool_use', id: 't2', name: 'recall', input: { query: 'tide' } };
  world.claude.react(({ index, pendingText }) => {
    if (pendingText.endsWith('Fail')) return REFUSED;
    return index === 0 ? { do: 'answer', content: [invented, search] } : undefined;
  });
  const { traceId } = await ask('Hello');
  const failed = await ask('Fail', 2);
  world.telegram.fail('sendMessage', GONE, 2, ({ chat_id }) => chat_id === CHAT + 1);
  const lost = await ask('Hello', 1, CHAT + 1);
  const seen = await untilMetrics(gateway, { 'spillway_tool_calls_total{tool="unknown",result="error"}': 1 });
  expect([...seen.keys()].join('\n')).not.toContain('491');
  await gateway.stop();
  expect(named(traceId, SPAN.turn)[0]?.attributes['spillway.chat']).toBe(String(CHAT));
  const tools = otlp.trace(traceId).filter(({ name }) => name.startsWith(SPAN.tool));
  expect(tools.map(({ name, status }) => [name, status.code]).toSorted()).toEqual([
    ['execute_tool recall', 'unset'],
    ['execute_tool unknown', 'error'],
  ]);
  expect(named(failed.traceId, SPAN.turn).at(-1)).toMatchObject({
    status: { code: 'error' },
    attributes: { 'spillway.outcome': 'failed', 'spillway.reason': failed.reason },
  });
  expect(lost.outcome).toBe('undeliverable');
  expect(named(lost.traceId, SPAN.turn).at(-1)?.status.code).toBe('error');
  expect(named(lost.traceId, SPAN.deliver).at(-1)).toMatchObject({
    status: { code: 'error' },
    attributes: { 'error.type': 'gone' },
  });
});
