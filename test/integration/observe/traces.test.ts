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

test('a turn is visible while it hangs; a kill -9 that cuts it, a postponed attempt, the wait and each call are spans', async () => {
  gateway = await spawnGateway(world);
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
  gateway = await spawnGateway(world, { TELEMETRY_CHAT_IDS: 'true' });
  await scrape(gateway);
  const invented = { type: 'tool_use', id: 't1', name: 'my_pin_is_491', input: {} };
  const search = { type: 'tool_use', id: 't2', name: 'recall', input: { query: 'tide' } };
  world.claude.react(({ index, pendingText }) => {
    if (pendingText.endsWith('Fail')) return REFUSED;
    return index === 0 ? { do: 'answer', content: [invented, search] } : undefined;
  });
  world.telegram.say(CHAT, 'Hello');
  const { traceId } = await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'Fail');
  const failed = await nextOutcome(world, CHAT, 2);
  world.telegram.fail('sendMessage', GONE, 2, ({ chat_id }) => chat_id === CHAT + 1);
  world.telegram.say(CHAT + 1, 'Hello');
  const lost = await nextOutcome(world, CHAT + 1);
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
