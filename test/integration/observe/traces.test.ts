import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SPAN } from '../../../shared/base/telemetry.ts';
import { createWorld, type World } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { scrape, untilMetrics } from '../../fixture/metrics.ts';
import { type GatewayProcess, spawnGateway } from '../../fixture/process.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';
import { type OtlpStandIn, startOtlp } from '../../stand-in/otlp.ts';

const CHAT = 1001;
const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
const REFUSED = { do: 'error', status: 400, type: 'invalid_request_error', message: 'unsupported thing' } as const;
const GONE = { status: 403, description: 'Forbidden: bot was blocked by the user' };

let world: World;
let otlp: OtlpStandIn;
let gateway: GatewayProcess | undefined;

beforeEach(async () => {
  otlp = await startOtlp();
  world = await createWorld({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
  });
});

afterEach(async () => {
  await gateway?.stop();
  await world.close();
  await otlp.close();
});

const named = (traceId: string, name: string) => otlp.trace(traceId).filter((span) => span.name === name);

test('an attempt that is postponed says why, the wait after it is a span, and each call says what it cost', async () => {
  gateway = await spawnGateway(world);
  world.claude.react(({ index }) => (index === 0 ? DOWN : undefined));
  world.telegram.say(CHAT, 'Hello');
  const { traceId } = await nextOutcome(world, CHAT);
  await gateway.stop();
  const [first, second] = named(traceId, SPAN.turn);
  expect(first?.attributes).toMatchObject({ 'spillway.verdict': 'later', 'spillway.reason': 'overloaded' });
  expect(first?.attributes['spillway.retry.delay_ms']).toBeGreaterThan(0);
  expect(second?.attributes).toMatchObject({ 'spillway.verdict': 'settle', 'spillway.outcome': 'answered' });
  expect([first?.links, second?.links.map(({ spanId }) => spanId)]).toEqual([[], [first?.spanId]]);
  const [wait] = named(traceId, SPAN.retryWait);
  expect(wait?.attributes).toMatchObject({ 'spillway.reason': 'overloaded' });
  expect((wait?.endMs ?? 0) - (wait?.startMs ?? 0)).toBeGreaterThan(100);
  const [failed, answered] = named(traceId, SPAN.call);
  expect(failed).toMatchObject({ status: { code: 'error' }, attributes: { 'error.type': 'overloaded' } });
  expect(answered?.attributes).toMatchObject({
    'spillway.stop_reason': 'end_turn',
    'spillway.purpose': 'answer',
    'spillway.cost.dollars': expect.closeTo(world.claude.usd(), 10),
  });
});

test('a plain turn is eight spans, and none of them is there without its parent', async () => {
  gateway = await spawnGateway(world);
  world.telegram.say(CHAT, 'Hello');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'Once more');
  const { traceId } = await nextOutcome(world, CHAT, 2);
  await gateway.stop();
  // It may have waited for 50 ms on a machine that does much else, or taken a second.
  const plain = otlp.trace(traceId).filter(({ name }) => name !== SPAN.laneWait && name !== SPAN.started);
  const parentOf = ({ parentSpanId }: { parentSpanId?: string }) =>
    plain.find(({ spanId }) => spanId === parentSpanId)?.name;
  expect(plain.map((span) => [span.name, parentOf(span)]).toSorted()).toEqual(
    [
      [SPAN.receive, undefined],
      [SPAN.turn, SPAN.receive],
      [SPAN.open, SPAN.turn],
      [SPAN.call, SPAN.turn],
      ['anthropic.messages.create', SPAN.call],
      [SPAN.deliver, SPAN.turn],
      [SPAN.telegram, SPAN.deliver],
      [SPAN.settle, SPAN.turn],
    ].toSorted(),
  );
});

test('a message that waited behind another shows that its lane held it up, and each call of Telegram is a span', async () => {
  gateway = await spawnGateway(world);
  world.claude.react(({ index }) => (index === 0 ? { do: 'answer', afterMs: 700 } : undefined));
  world.telegram.say(CHAT, 'One');
  await world.claude.waitForCall(({ index }) => index === 0);
  world.telegram.say(CHAT, 'Two');
  const { traceId } = await nextOutcome(world, CHAT, 2);
  await gateway.stop();
  expect(named(traceId, SPAN.laneWait).map(({ attributes }) => attributes['spillway.wait.reason'])).toContain('lane');
  const [deliver] = named(traceId, SPAN.deliver);
  const inside = named(traceId, SPAN.telegram).filter(({ parentSpanId }) => parentSpanId === deliver?.spanId);
  expect(inside.map(({ attributes }) => attributes['spillway.telegram.method'])).toEqual(['sendMessage']);
});

test('a failed message fails its span, and a reply that cannot be delivered says how', async () => {
  gateway = await spawnGateway(world);
  world.claude.react(({ pendingText }) => (pendingText.endsWith('Fail') ? REFUSED : undefined));
  world.telegram.say(CHAT, 'Fail');
  const failed = await nextOutcome(world, CHAT);
  world.telegram.fail('sendMessage', GONE, 2, ({ chat_id }) => chat_id === CHAT + 1);
  world.telegram.say(CHAT + 1, 'Hello');
  const lost = await nextOutcome(world, CHAT + 1);
  await gateway.stop();
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

test('a turn that hangs is visible while it runs, under a name of its chat that does not tell whose it is', async () => {
  gateway = await spawnGateway(world);
  world.claude.react(() => ({ do: 'hang' }));
  world.telegram.say(CHAT, 'Hello');
  const started = await otlp.waitForSpan(({ name }) => name === SPAN.started);
  expect(started.attributes).toMatchObject({
    'spillway.attempt': 1,
    'spillway.chat': expect.stringMatching(/^[\da-f]{16}$/),
  });
  const received = await otlp.waitForSpan(({ name }) => name === SPAN.receive);
  expect(received.attributes['spillway.chat']).toBe(started.attributes['spillway.chat']);
  expect(JSON.stringify(otlp.spans)).not.toContain(`"${CHAT}"`);
});

test('a head sampler decides for a whole trace, also across a restart, and whether or not it takes one all is counted', async () => {
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
  gateway = await spawnGateway(world, sampled);
  let isStuck = true;
  world.claude.react(() => (isStuck ? { do: 'hang' } : undefined));
  for (let at = 0; at < 20; at++) world.telegram.say(CHAT + at, 'Hello');
  await world.claude.waitForCall(() => world.claude.inFlight() >= 8);
  gateway.kill('SIGKILL');
  await gateway.ended;
  isStuck = false;
  gateway = await spawnGateway(world, sampled);
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, at) => nextOutcome(world, CHAT + at)));
  await gateway.stop();
  const ends = outcomes.map(({ traceId }) => named(traceId, SPAN.settle).length);
  const shown = outcomes.map(({ traceId }) => otlp.trace(traceId).length > 0);
  expect(shown).toEqual(ends.map((count) => count === 1));
  expect(new Set(shown)).toEqual(new Set([true, false]));
  expect(new Set(outcomes.map(({ traceId }) => traceId)).size).toBe(20);
});

test('a turn shows the attempt that a kill -9 cut, once, under the id under which that one showed what it did', async () => {
  gateway = await spawnGateway(world);
  const reactions: Reaction[] = [{ do: 'hang' }, DOWN];
  world.claude.react(({ index }) => reactions[index]);
  world.telegram.say(CHAT, 'Hello');
  const started = await otlp.waitForSpan(({ name }) => name === SPAN.started);
  gateway.kill('SIGKILL');
  await gateway.ended;
  gateway = await spawnGateway(world);
  const { traceId } = await nextOutcome(world, CHAT);
  await gateway.stop();
  const [cut, ...twice] = named(traceId, SPAN.cut);
  expect(twice).toEqual([]);
  expect(cut).toMatchObject({
    spanId: started.parentSpanId,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'spillway.attempt': 1 },
  });
  expect(cut?.startMs).toBeLessThanOrEqual(started.startMs);
  const turns = named(traceId, SPAN.turn);
  expect(turns.map(({ attributes }) => attributes['spillway.verdict'])).toEqual(['later', 'settle']);
  expect(turns.map(({ links }) => links[0]?.spanId)).toEqual([cut?.spanId, turns[0]?.spanId]);
  expect(turns.map(({ parentSpanId }) => parentSpanId)).toEqual([cut?.parentSpanId, cut?.parentSpanId]);
  const waitedSince = named(traceId, SPAN.laneWait).filter(({ endMs }) => endMs > started.startMs);
  expect([waitedSince, named(traceId, SPAN.retryWait).length]).toEqual([[], 1]);
});

test('a call of a tool has its name, but none that the model made up, and fails when the model gets an error', async () => {
  gateway = await spawnGateway(world);
  await scrape(gateway);
  const invented = { type: 'tool_use', id: 't1', name: 'my_pin_is_491', input: {} };
  const search = { type: 'tool_use', id: 't2', name: 'recall', input: { query: 'tide' } };
  world.claude.react(({ index }) => (index === 0 ? { do: 'answer', content: [invented, search] } : undefined));
  world.telegram.say(CHAT, 'Hello');
  const { traceId } = await nextOutcome(world, CHAT);
  const seen = await untilMetrics(gateway, { 'spillway_tool_calls_total{tool="unknown",result="error"}': 1 });
  expect([...seen.keys()].join('\n')).not.toContain('491');
  await gateway.stop();
  const tools = otlp.trace(traceId).filter(({ name }) => name.startsWith(SPAN.tool));
  expect(tools.map(({ name, status }) => [name, status.code]).toSorted()).toEqual([
    ['execute_tool recall', 'unset'],
    ['execute_tool unknown', 'error'],
  ]);
});

test('with TELEMETRY_CHAT_IDS the chat is named by its id', async () => {
  gateway = await spawnGateway(world, { TELEMETRY_CHAT_IDS: 'true' });
  world.telegram.say(CHAT, 'Hello');
  const { traceId } = await nextOutcome(world, CHAT);
  await gateway.stop();
  expect(named(traceId, SPAN.turn)[0]?.attributes['spillway.chat']).toBe(String(CHAT));
});
