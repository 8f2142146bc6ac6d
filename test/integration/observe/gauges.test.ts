import { beforeEach, expect, test } from '@jest/globals';
import { eachInWorld, spawn, trouble, world } from '../../fixture/each-test.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { scrape, untilMetrics } from '../../fixture/metrics.ts';
import { type GatewayProcess, portOf } from '../../fixture/process.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

const [BUSY, STUCK, FINE, FAILING] = [1001, 1002, 1003, 1004] as const;
const REFUSED = { do: 'error', status: 400, type: 'invalid_request_error', message: 'unsupported thing' } as const;

let gateway: GatewayProcess;

eachInWorld();
beforeEach(async () => {
  gateway = await spawn();
});

/** One chat with four messages and one with one hang; one chat is answered, and one fails. */
async function givenStuckChats(): Promise<void> {
  world.claude.react(({ pendingText }) => (pendingText.endsWith('Hang') ? { do: 'hang' } : undefined));
  world.claude.react(({ pendingText }) => (pendingText.endsWith('Fail') ? REFUSED : undefined));
  // Counts begin with the first scrape.
  await scrape(gateway);
  for (const text of ['Hang', 'Two', 'Three', 'Four']) world.telegram.say(BUSY, text);
  world.telegram.say(STUCK, 'Hang');
  world.telegram.say(FINE, 'Hello');
  world.telegram.say(FAILING, 'Fail');
  await Promise.all([nextOutcome(world, FINE), nextOutcome(world, FAILING)]);
  await world.claude.waitForCall(() => world.claude.inFlight() === 2);
}

/** The gauges of an installation in which all is answered. */
const WELL = {
  spillway_messages_pending: 0,
  spillway_messages_unanswered_age_seconds: 0,
  spillway_lanes: 0,
  spillway_lane_depth: 0,
  'spillway_jobs{state="active"}': 0,
  spillway_turns_running_age_seconds: 0,
  spillway_cache_used_bytes: 0,
};

test('while turns hang and one failed, the gauges equal what the stand-ins saw, and survive a kill -9', async () => {
  await givenStuckChats();
  const seen = await untilMetrics(gateway, {
    spillway_redis_up: 1,
    spillway_messages_pending: 5,
    spillway_lanes: 2,
    spillway_lane_depth: 4,
    'spillway_jobs{state="active"}': world.claude.inFlight(),
    'spillway_jobs{state="waiting"}': 0,
    spillway_dead_letters: 1,
    'spillway_turns_running{step="model.call"}': world.claude.inFlight(),
    'spillway_incidents_open{cause="gave-up"}': 1,
    'spillway_incidents_open{cause="memory"}': 0,
    spillway_alerts_backlog: 0,
    spillway_workers: 1,
    'spillway_outcomes_total{outcome="answered"}': 1,
    'spillway_outcomes_total{outcome="failed"}': 1,
  });
  expect(seen.get('spillway_messages_unanswered_age_seconds')).toBeGreaterThan(0);
  expect(seen.get('spillway_turns_running_age_seconds')).toBeGreaterThan(0);
  expect(seen.get('spillway_poll_age_seconds')).toBeLessThan(60);
  expect(seen.get('process_memory_usage_bytes')).toBeGreaterThan(1_000_000);
  expect(seen.get('process_cpu_time_seconds_total')).toBeGreaterThan(0);
  const labels = [...seen.keys()].map((name) => name.replace(/(?:le|server_port)="\d+"/g, ''));
  expect(labels.filter((name) => /"\d+"/.test(name))).toEqual([]);
  gateway.kill('SIGKILL');
  await gateway.ended;
  const late = { do: 'answer', afterMs: 3_000 } as const;
  world.claude.react(({ pendingText }) => (pendingText.endsWith('Hang') ? late : undefined));
  gateway = await spawn();
  await untilMetrics(gateway, { spillway_messages_pending: 5, spillway_lane_depth: 4, spillway_dead_letters: 1 });
  await untilSettled(world, 7);
  await untilMetrics(gateway, WELL);
});

test('tokens, dollars and calls are what the provider billed, by the gen_ai conventions and their older names', async () => {
  await scrape(gateway);
  world.claude.react(({ pendingText }) => (pendingText.endsWith('Fail') ? REFUSED : undefined));
  await ask('Hello', 1, FINE);
  await ask('Fail', 1, FAILING);
  const server = `server_address="127.0.0.1",server_port="${new URL(world.claude.url).port}"`;
  const chat = `gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",${server},gen_ai_request_model="claude-opus-5-5"`;
  const billed = world.claude.calls.flatMap(({ usage }) => usage ?? []);
  const sum = (tokens: (usage: (typeof billed)[number]) => number) =>
    billed.reduce((total, usage) => total + tokens(usage), 0);
  const output = sum(({ output_tokens }) => output_tokens);
  const written = sum((usage) => usage.cache_creation_input_tokens);
  const read = sum((usage) => usage.cache_read_input_tokens);
  const input = sum(({ input_tokens }) => input_tokens) + written + read;
  const of = (name: string, labels: string) => `gen_ai_client_${name}{${chat}${labels}}`;
  const seen = await untilMetrics(gateway, {
    [of('inference_duration_seconds_bucket', ',le="81.92"')]: billed.length,
    [of('inference_time_to_first_chunk_seconds_count', '')]: billed.length,
    [of('inference_operation_input_tokens_sum', '')]: input,
    [of('inference_operation_output_tokens_bucket', ',le="67108864"')]: billed.length,
    [of('inference_usage_input_tokens_total', ',gen_ai_token_modality="unknown"')]: input,
    [of('inference_usage_output_tokens_total', ',gen_ai_token_modality="unknown"')]: output,
    [of('inference_usage_cache_read_input_tokens_total', ',gen_ai_token_modality="unknown"')]: read,
    [of('inference_usage_cache_write_input_tokens_total', ',gen_ai_token_modality="unknown"')]: written,
    [of('operation_duration_seconds_bucket', ',le="81.92"')]: billed.length,
    [of('token_usage_sum', ',gen_ai_token_type="output"')]: output,
    [of('token_usage_sum', ',gen_ai_token_type="input"')]: input,
  });
  const about = 'model="claude-opus-5-5",purpose="answer"';
  const [answer] = world.claude.calls;
  expect(seen.get(`spillway_model_calls_total{${about},result="ok"}`)).toBe(1);
  expect(seen.get(`spillway_model_tokens_total{${about},kind="output"}`)).toBe(answer?.usage?.output_tokens);
  expect(seen.get(`spillway_model_cost_dollars_total{${about}}`)).toBeCloseTo(answer?.usd ?? 0, 10);
  const failed = /^gen_ai_client_inference_(?:duration_seconds|operation_input_tokens)_count.*error_type="\w/;
  expect([...seen.keys()].filter((name) => failed.test(name))).toHaveLength(2);
});

test('while the endpoint fails the breaker is open, and how long no call has gone through is shown', async () => {
  const mend = trouble(LIES.overloaded);
  for (let at = 0; at < 10; at++) world.telegram.say(1001 + at, 'Hello');
  const open = 'spillway_breaker_open{model="claude-opus-5-5"}';
  await untilMetrics(
    gateway,
    { [open]: 1, spillway_messages_pending: 10, spillway_provider_failing_age_seconds: 'above 0' },
    30_000,
  );
  mend();
  await untilMetrics(
    gateway,
    { [open]: 0, spillway_messages_pending: 0, spillway_provider_failing_age_seconds: 0 },
    45_000,
  );
});

test('GET /metrics says in sentences what it counts and whether Redis can be read, and answers all the same', async () => {
  await ask('Hello', 1, FINE);
  const text = await (await fetch(`http://127.0.0.1:${portOf(gateway)}/metrics`)).text();
  const help = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].filter(([, name]) => name !== 'target_info');
  expect(help.length).toBeGreaterThan(20);
  expect(help.filter(([, , words = '']) => !/^[A-Z\d].*\.$/.test(words))).toEqual([]);
  // Times are in seconds.
  expect(text).not.toContain('_milliseconds');
  await untilMetrics(gateway, { spillway_redis_up: 1 });
  world.redis.kill9();
  await untilMetrics(gateway, { spillway_redis_up: 0 });
  await world.redis.restart();
  await untilMetrics(gateway, { spillway_redis_up: 1 });
  const posted = await fetch(`http://127.0.0.1:${portOf(gateway)}/metrics`, { method: 'POST' });
  expect(posted.status).toBe(404);
});
