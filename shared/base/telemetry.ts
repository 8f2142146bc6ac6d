import { type Attributes, metrics, trace } from '@opentelemetry/api';
import type { Exporter } from './exporter.ts';
import { within } from './lifecycle.ts';
import { createMeters, type Meters, type MetricShapes, type ReadGauges } from './meters.ts';
import { createRunningTurns, observeRuntime } from './process-gauges.ts';
import type { Scraper } from './prometheus.ts';
import type { NameChat } from './spans.ts';
import { createMarks, createSpans, type MarkOptions, type RunInSpan, writeTraceparent } from './spans.ts';
import { registerTraceIds } from './trace-ids.ts';

/**
 * The spans that we emit: a contract with dashboards and alert rules, held by a test against a real run.
 *
 * | name | kind | where | own attributes |
 * |---|---|---|---|
 * | `receive telegram` | consumer | one accepted update is on the stream: the root of its trace | `messaging.system`, `messaging.message.id`, `spillway.update.id`, `spillway.chat`, `spillway.duplicate` |
 * | `send inbound` | producer | one reminder that is due is on the stream: the root of its trace | `messaging.system`, `spillway.reminder` |
 * | `lane.wait` | internal | a message waited for its first attempt, 50 ms or more | `spillway.wait.reason`: what took longer, `lane` (until it was the first of its lane, and a job) or `queue` (until a worker had a slot); `spillway.wait.lane_ms` |
 * | `retry.wait` | internal | the time since the attempt before | `spillway.reason`: why that one ended |
 * | `turn.started` | internal | an attempt runs for a second already: so that it shows while it does | those of `turn` at its start that are ours |
 * | `turn` | internal | one attempt at a message, linked to the one before; failed when its outcome is | `gen_ai.operation.name` (`invoke_agent`), `gen_ai.agent.name`, `gen_ai.provider.name`, `gen_ai.conversation.id`, `spillway.chat`, `spillway.session`, `spillway.entry`, `spillway.attempt`, `spillway.recovery.stage`, `spillway.verdict`, `spillway.reason`, `spillway.retry.delay_ms`, `spillway.outcome`, `error.type` |
 * | `turn.cut` | internal | an attempt without a verdict, since its process was killed or lost Redis; the next one sends it, under the id of that one's `turn` and until its own begin | those of `turn` at its start, but the stage |
 * | `session.open` | internal | message recorded, window loaded | `spillway.window.records`, `spillway.window.bytes` |
 * | `execute_tool <tool>` | internal | one call of a tool | `gen_ai.operation.name` (`execute_tool`), `gen_ai.tool.name`, `gen_ai.tool.type`, `error.type` |
 * | `model.call` | internal | one call of a model, around the SDK's own span | `spillway.model`, `spillway.purpose`, `spillway.stop_reason`, `spillway.cost.dollars`, `error.type` |
 * | `anthropic.messages.create` | client | the SDK's own, after the gen_ai conventions: the `chat` | gen_ai.* |
 * | `anthropic.models.retrieve`, `anthropic.messages.count_tokens` | client | the SDK's own: the window was asked for, once a day, or a count | |
 * | `reply.deliver` | producer | parts sent to Telegram | `spillway.parts`, `error.type` |
 * | `telegram.call` | client | one call of the Bot API within another span; of drafts and "typing" only one that failed | `spillway.telegram.method`, `error.type` |
 * | `settle inbound` | client | outcome written, entry acknowledged | `spillway.outcome` |
 * | `queue.context_overflow.detected` | internal | an overflow was classified | `spillway.overflow.kind`, `spillway.recovery.stage`, `spillway.overflow.observed_tokens`, `spillway.overflow.limit_tokens` |
 * | `queue.context_overflow.compacted` | internal | stage 1 was attempted | `success`, `spillway.tokens.before`, `spillway.tokens.after`, `spillway.compaction.calls` |
 * | `queue.context_overflow.new_session` | internal | stage 2: fresh session bound | `has_summary`, `summary_length`, `spillway.session.entries` |
 * | `queue.context_overflow.recovery_failed` | internal | a stage threw, was refused, or did not hold | `spillway.recovery.stage`, `error.type` |
 * | `daemon.context_overflow.recovery` | internal | seed built and delivered | `has_summary`, `summary_length` |
 */
export const SPAN = {
  receive: 'receive telegram',
  remind: 'send inbound',
  laneWait: 'lane.wait',
  retryWait: 'retry.wait',
  started: 'turn.started',
  turn: 'turn',
  cut: 'turn.cut',
  open: 'session.open',
  tool: 'execute_tool',
  call: 'model.call',
  deliver: 'reply.deliver',
  telegram: 'telegram.call',
  settle: 'settle inbound',
  overflowDetected: 'queue.context_overflow.detected',
  overflowCompacted: 'queue.context_overflow.compacted',
  overflowNewSession: 'queue.context_overflow.new_session',
  overflowRecoveryFailed: 'queue.context_overflow.recovery_failed',
  overflowRecovery: 'daemon.context_overflow.recovery',
} as const;

/**
 * The metrics that we emit, with their attributes. Gauges "of the installation" are the same in every worker process: take
 * their maximum over processes, never their sum. A unit becomes the end of the name in Prometheus: s is `_seconds`.
 */
export const METRIC = {
  /** Counter: overflows found. `kind`, `stage`. */
  overflows: 'spillway.context_overflow',
  /** Counter: recovery steps. `action` (mask, compact, new_session, scrub, drop_thinking, lower_output, …), `result`. */
  recoveries: 'spillway.recovery',
  /** Counter: violations fixed in requests before they were sent. `rule` (of the API contract), `what`. */
  repairs: 'spillway.request.repairs',
  /** Counter: finished tool calls. `tool` (unknown for a name that we do not offer), `result` (ok, error). */
  tools: 'spillway.tool.calls',
  /** Counter: outcomes. `outcome`. */
  outcomes: 'spillway.outcomes',
  /** Counter: messages accepted, duplicates not counted. */
  accepted: 'spillway.messages.accepted',
  /** Counter: updates ignored. `reason`. */
  ignored: 'spillway.updates.ignored',
  /** Counter: webhook deliveries not answered with 200. `status`. */
  refusedDeliveries: 'spillway.webhook.refused',
  /** Counter: sends whose result is unknown. `resent`: whether it was the second and last try. */
  unknownSends: 'spillway.sends.unknown',
  /** Histogram, ms: from the time Telegram got a message to its outcome. `outcome`. */
  latency: 'spillway.message.latency',
  /** Counter: calls of a model. `model`, `purpose` (answer, summary, probe), `result` (ok, or the reason of the failure). */
  modelCalls: 'spillway.model.calls',
  /** Counter: tokens that calls were billed. `model`, `purpose`, `kind` (input, cache_read, cache_write, output). */
  modelTokens: 'spillway.model.tokens',
  /** Counter: dollars that calls cost; calls of a model without a known price are left out. `model`, `purpose`. */
  modelCost: 'spillway.model.cost.dollars',
  /** Histogram, {token}: tokens of a call, as the gen_ai conventions count them: input with what the cache had. `gen_ai.*`. */
  genAiTokens: 'gen_ai.client.token.usage',
  /** Histogram, s: duration of a call, after the same conventions. `gen_ai.*`, `error.type`. */
  genAiDuration: 'gen_ai.client.operation.duration',
  /** Counter: calls of the Bot API. `method`, `result` (ok, or the kind of the failure). */
  telegramCalls: 'spillway.telegram.calls',
  /** Counter: attempts that ended without an outcome. `reason`. */
  retries: 'spillway.turns.postponed',
  /** Gauge: messages without an outcome. Of the installation. */
  pending: 'spillway.messages.pending',
  /** Gauge, s: age of the oldest message whose user has no answer, 0 when there is none. Of the installation. */
  unansweredAge: 'spillway.messages.unanswered.age',
  /** Gauge: lanes that hold messages. Of the installation. */
  lanes: 'spillway.lanes',
  /** Gauge: messages in the longest lane. Of the installation. */
  laneDepth: 'spillway.lane.depth',
  /** Gauge: jobs. `state` (waiting, active, delayed). Of the installation. */
  jobs: 'spillway.jobs',
  /** Gauge: dead letters. Of the installation. */
  deadLetters: 'spillway.dead_letters',
  /** Gauge: alerts and notices that have not reached the operator. Of the installation. */
  alertBacklog: 'spillway.alerts.backlog',
  /** Gauge: open incidents. `cause`. Of the installation. */
  incidents: 'spillway.incidents.open',
  /** Gauge, s: time since Telegram last answered a poll or a webhook check. Of the installation. */
  pollAge: 'spillway.poll.age',
  /** Gauge, s: for how long no model call has gone through, 0 while they do. Of the installation. */
  providerFailing: 'spillway.provider.failing.age',
  /** Gauge, s: for how long Telegram has not answered, so that nothing is sent; 0 while it does. Of the installation. */
  telegramAway: 'spillway.telegram.away.age',
  /** Gauge: share of Redis' memory limit in use, from 0 to 1; 0 without a limit. Of the installation. */
  redisMemoryShare: 'spillway.redis.memory.share',
  /** Gauge, By: memory that Redis uses. Of the installation. */
  redisMemory: 'spillway.redis.memory.used',
  /** Gauge: 1 while Redis cannot write its files, else 0. Of the installation. */
  redisUnwritten: 'spillway.redis.unwritten',
  /** Gauge: 1 when this process could read the state of the installation, else 0: those gauges then stay as they were. */
  redisUp: 'spillway.redis.up',
  /** Gauge: worker processes that reported lately. Of the installation. */
  workers: 'spillway.workers',
  /** Gauge: turns that run in this process. `step`: the name of the span that they are in. */
  turns: 'spillway.turns.running',
  /** Gauge, s: age of the oldest attempt that runs in this process, 0 when none does. */
  turnAge: 'spillway.turns.running.age',
  /** Gauge: 1 while this process makes no calls of a model because its endpoint fails, else 0. `model`. */
  breaker: 'spillway.breaker.open',
  /** Gauge, By: what this process keeps of chats in memory, as it estimates it; at most PROCESS_CACHE_MB. */
  cacheUsed: 'spillway.cache.used',
  /** Gauge, s: 99th percentile of the delay of the event loop since the last reading. */
  loopDelay: 'nodejs.eventloop.delay.p99',
  /** Gauge: share of time that the event loop was busy since the last reading, from 0 to 1. */
  loopUse: 'nodejs.eventloop.utilization',
  /** Gauge, By: heap in use. */
  heapUsed: 'v8js.memory.heap.used',
  /** Gauge, By: the most that the heap may grow to. */
  heapLimit: 'v8js.memory.heap.limit',
  /** Counter, s: time that garbage collection took. */
  gcTime: 'v8js.gc.time',
  /** Counter, s: processor time of this process. */
  cpuTime: 'process.cpu.time',
  /** Gauge, By: memory of this process (RSS). */
  memory: 'process.memory.usage',
} as const;

/** The name of one of our metrics. */
export type MetricName = (typeof METRIC)[keyof typeof METRIC];

/** The name of a histogram among them. */
export type HistogramName = typeof METRIC.latency | typeof METRIC.genAiTokens | typeof METRIC.genAiDuration;

const SCOPE = 'spillway';

/** The units that the table states, and what else the SDK has to know of a metric. */
export const SHAPES: MetricShapes = {
  units: {
    [METRIC.latency]: 'ms',
    [METRIC.genAiTokens]: '{token}',
    [METRIC.genAiDuration]: 's',
    [METRIC.unansweredAge]: 's',
    [METRIC.pollAge]: 's',
    [METRIC.providerFailing]: 's',
    [METRIC.telegramAway]: 's',
    [METRIC.redisMemory]: 'By',
    [METRIC.turnAge]: 's',
    [METRIC.cacheUsed]: 'By',
    [METRIC.loopDelay]: 's',
    [METRIC.heapUsed]: 'By',
    [METRIC.heapLimit]: 'By',
    [METRIC.gcTime]: 's',
    [METRIC.cpuTime]: 's',
    [METRIC.memory]: 'By',
  },
  observedCounters: new Set([METRIC.gcTime, METRIC.cpuTime]),
  buckets: {
    // Up to the turn timeout and beyond: a message may wait behind others of its chat.
    [METRIC.latency]: [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 150_000, 300_000, 900_000],
    // The conventions': powers of four, and doublings from 10 ms.
    [METRIC.genAiTokens]: Array.from({ length: 14 }, (_, power) => 4 ** power),
    [METRIC.genAiDuration]: Array.from({ length: 14 }, (_, power) => 2 ** power / 100),
  },
};

/** Spans and metrics of this process. Every method is safe when nothing is exported. */
export interface Telemetry {
  /** Whether spans leave this process: where they do not, an attribute that takes effort need not be computed. */
  readonly isExporting: boolean;
  /** Runs `work` in a span; an error marks the span as failed and is rethrown. */
  readonly span: RunInSpan;
  /** A span that is over: something happened, or lasted from `sinceMs` on. */
  mark(name: string, attributes: Attributes, at?: MarkOptions): void;
  /** The attribute that names a chat, hashed with a key of the installation; nothing where nothing is exported. */
  chat(chat: string): Attributes;
  /** Adds to a counter; by default 1. */
  count(metric: MetricName, attributes: Attributes, by?: number): void;
  /** Adds a measurement to a histogram, in its unit. */
  record(metric: HistogramName, value: number, attributes: Attributes): void;
  /** Reads these gauges whenever metrics are exported or scraped, and never otherwise. Returns what ends that. */
  observe(gauges: readonly MetricName[], read: ReadGauges): () => void;
  /** The metrics as Prometheus' text. Counts begin with the first scrape where nothing else is exported. */
  scrape(): Promise<string>;
  /** Flushes, for at most `deadlineMs`: a dead collector must not hold up an exit. */
  stop(deadlineMs: number): Promise<void>;
}

/**
 * Starts OpenTelemetry. With `exporting` false (no `OTEL_EXPORTER_OTLP_ENDPOINT`) nothing is recorded or sent, yet
 * every message still has its trace id, for logs, alerts and the ledger. All other settings are the standard `OTEL_*`.
 * The SDK, which is larger than the gateway, is loaded only to export.
 */
export async function startTelemetry(options: {
  serviceName: string;
  exporting: boolean;
  nameChat: NameChat;
}): Promise<Telemetry> {
  if (!options.exporting) return traceIdsOnly();
  const { startExporter } = await import('./exporter.ts');
  const exporter = startExporter(options.serviceName);
  const meters = createMeters(SHAPES);
  meters.attach(metrics.getMeter(SCOPE));
  return telemetryOver(exporter, meters, options.nameChat);
}

/** Telemetry that exports nothing, as `startTelemetry` starts it then. */
export function traceIdsOnly(): Telemetry {
  registerTraceIds();
  return telemetryOver({ shutdown: async () => {} }, createMeters(SHAPES), undefined);
}

function telemetryOver(exporter: Exporter, meters: Meters, nameChat: NameChat | undefined): Telemetry {
  const isExporting = nameChat !== undefined;
  const { count, record, observe } = meters;
  const turns = createRunningTurns();
  observe([METRIC.turns, METRIC.turnAge], async () => turns.read(METRIC));
  observeRuntime(meters, METRIC);
  let scraper: Promise<Scraper> | undefined;
  return {
    isExporting,
    span: createSpans(SCOPE, { turns, turnName: SPAN.turn, isExporting }),
    mark: isExporting ? createMarks(SCOPE) : () => {},
    chat: nameChat ? (chat) => ({ 'spillway.chat': nameChat(chat) }) : () => ({}),
    count,
    record,
    observe,
    async scrape() {
      scraper ??= openScraper(meters);
      return (await scraper).scrape();
    },
    async stop(deadlineMs) {
      await within(exporter.shutdown(), deadlineMs).catch(() => {});
    },
  };
}

async function openScraper(meters: Meters): Promise<Scraper> {
  const { createScraper } = await import('./prometheus.ts');
  return createScraper(meters, SCOPE);
}

/** The W3C traceparent of the active span; empty when there is none. */
export function traceparent(): string {
  return writeTraceparent(trace.getActiveSpan()?.spanContext());
}

/** The trace id inside a traceparent; empty when there is none. */
export function traceIdOf(parent: string): string {
  return parent.split('-')[1] ?? '';
}
