import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { METRIC, SPAN } from '../../../shared/base/telemetry.ts';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { createWorld, type World } from '../../fixture/gateway.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { type GatewayProcess, spawnGateway } from '../../fixture/process.ts';
import { type ExportedSpan, type OtlpStandIn, startOtlp } from '../../stand-in/otlp.ts';

const CHAT = 1001;
const ADR_NAMES = [
  'queue.context_overflow.detected',
  'queue.context_overflow.compacted',
  'queue.context_overflow.new_session',
  'queue.context_overflow.recovery_failed',
  'daemon.context_overflow.recovery',
];

let world: World;
let otlp: OtlpStandIn;
let gateway: GatewayProcess;

beforeEach(async () => {
  otlp = await startOtlp();
  world = await createWorld({
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
  });
  gateway = await spawnGateway(world);
});

afterEach(async () => {
  await gateway.stop();
  await world.close();
  await otlp.close();
});

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
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  const main = () => world.claude.calls.filter((call) => call.kind === 'main');
  const search = { type: 'tool_use', id: 't1', name: 'recall', input: { query: 'file-7.ts' } };
  world.claude.react((call) => {
    if (call.kind !== 'main' || isProbe(call)) return undefined;
    if (!isSeeded(call)) return { do: 'overflow' };
    return main().filter(isSeeded).length === 1 ? { do: 'answer', content: [search] } : undefined;
  });
  world.telegram.say(CHAT, 'Trace me, but not my words');
  const { traceId } = await nextOutcome(world, CHAT);
  await otlp.waitForSpan((span) => span.name === SPAN.settle && span.traceId === traceId);
  await gateway.stop();
  const trace = otlp.trace(traceId);
  const named = (name: string) => trace.filter((span) => span.name === name || span.name.startsWith(`${name} `));
  // It waited for nobody, ended soon, and nothing was killed.
  const sometimes: readonly string[] = [SPAN.remind, SPAN.laneWait, SPAN.started, SPAN.cut];
  const always = Object.values(SPAN).filter((name) => !sometimes.includes(name));
  for (const name of [...ADR_NAMES, ...always]) expect([name, named(name).length > 0]).toEqual([name, true]);
  expect(otlp.spans.filter((span) => ADR_NAMES.includes(span.name) && span.traceId !== traceId)).toEqual([]);
  expect(named(SPAN.turn).map((span) => span.attributes['spillway.verdict'])).toEqual([
    'again',
    'later',
    'again',
    'settle',
  ]);
  expect(named('anthropic.messages.create').length).toBeGreaterThanOrEqual(4);
  expect(named(SPAN.overflowDetected)[0]?.attributes).toMatchObject({
    'spillway.overflow.kind': 'token',
    'spillway.recovery.stage': 'none',
    'spillway.overflow.limit_tokens': 20_000,
    'spillway.overflow.observed_tokens': expect.any(Number),
  });
  expect(named(SPAN.overflowNewSession)[0]?.attributes).toMatchObject({
    has_summary: true,
    summary_length: expect.any(Number),
  });
  expect(named(SPAN.overflowRecovery)[0]?.attributes).toMatchObject({
    has_summary: true,
    summary_length: expect.any(Number),
  });
  expectWordsOfGenAi(trace);
  expect(named(SPAN.receive)[0]).toMatchObject({
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
