import { type Attributes, metrics, trace } from '@opentelemetry/api';
import type { Exporter } from './exporter.ts';
import type { ReachFailpoint } from './failpoint.ts';
import { within } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { counter, createMeters, gauge, histogram, type Instruments, type Meters, type Metric } from './meters.ts';
import { createRunningTurns, observeRuntime } from './process-gauges.ts';
import type { Signals } from './signals.ts';
import {
  createMarks,
  createSpans,
  type MarkOptions,
  type NameChat,
  type RunInSpan,
  writeTraceparent,
} from './spans.ts';
import { registerTraceIds } from './trace-ids.ts';

/**
 * The spans that the gateway emits. Dashboards and alert rules rely on them, and a test finds no other spans in a real run.
 *
 * | name | kind | meaning | attributes of its own |
 * |---|---|---|---|
 * | `receive telegram` | client | the stream stores one accepted update, or has it already; the root of its trace | messaging.*, `spillway.update.id`, `spillway.chat`, `spillway.duplicate` |
 * | `send inbound` | producer | the stream stores one due reminder; the root of its trace | messaging.*, `spillway.reminder` |
 * | `lane.wait` | internal | a message's wait for its first attempt, of 50 ms or more | `spillway.wait.reason`: the longer part of the wait, `lane` (until the message was the first of its lane, and a job) or `queue` (until a worker had a slot); `spillway.wait.lane_ms` |
 * | `retry.wait` | internal | the time since the last attempt | `spillway.reason`: why the last attempt ended |
 * | `turn.started` | internal | an attempt has run for a second; a long attempt is thus visible before its end | the `spillway.*` attributes of `turn` at its start |
 * | `turn` | internal | one attempt at a message, linked to the last attempt; failed if the message failed | `gen_ai.operation.name` (`invoke_agent`), `gen_ai.agent.name`, `gen_ai.conversation.id`, `spillway.chat`, `spillway.session`, `spillway.entry`, `spillway.attempt`, `spillway.recovery.stage`, `spillway.verdict`, `spillway.reason`, `spillway.retry.delay_ms`, `spillway.outcome`, `error.type` |
 * | `turn.cut` | internal | an attempt without a verdict, because its process was killed or lost Redis. The next attempt sends this span, with the id of the cut attempt's `turn`; the span ends when the next attempt begins | the attributes of `turn` at its start, without the stage |
 * | `session.open` | internal | the message is recorded and the window loaded | `spillway.window.records`, `spillway.window.bytes` |
 * | `execute_tool <tool>` | internal | one call of a tool | `gen_ai.operation.name` (`execute_tool`), `gen_ai.tool.name`, `gen_ai.tool.type`, `error.type` |
 * | `model.call` | internal | one call of a model, around the SDK's own span | `spillway.model`, `spillway.purpose`, `spillway.stop_reason`, `spillway.cost.dollars`, `error.type` |
 * | `anthropic.messages.create` | client | the SDK's own span of a call, by the gen_ai conventions (`chat`) | gen_ai.*, of which the gateway adds `gen_ai.response.finish_reasons`; `server.address`, `server.port` |
 * | `anthropic.models.retrieve`, `anthropic.messages.count_tokens` | client | the SDK's own spans of requests for a model's window, once a day, and for a count of tokens | |
 * | `reply.deliver` | producer | the parts of a reply are sent to Telegram | messaging.*, `spillway.parts`, `error.type` |
 * | `telegram.call` | client | one call of the Bot API within another span; of the calls for drafts and "typing" only failed ones | `spillway.telegram.method`, `error.type` |
 * | `settle inbound` | client | the outcome is stored and the entry acknowledged | messaging.*, `spillway.outcome` |
 * | `queue.context_overflow.detected` | internal | a context overflow was found and classified | `spillway.overflow.kind`, `error.type`, `spillway.recovery.stage`, `spillway.overflow.observed_tokens`, `spillway.overflow.limit_tokens` |
 * | `queue.context_overflow.compacted` | internal | stage 1 was attempted | `success`, `spillway.tokens.before`, `spillway.tokens.after`, `spillway.compaction.calls` |
 * | `queue.context_overflow.new_session` | internal | stage 2: the chat or a trial got a fresh session | `has_summary`, `summary_length`, `spillway.session.entries` |
 * | `queue.context_overflow.recovery_failed` | internal | a stage threw, was refused, or did not help | `spillway.recovery.stage`, `error.type` |
 * | `daemon.context_overflow.recovery` | internal | the seed of a fresh session is built and stored | `has_summary`, `summary_length` |
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

/** The bounds of buckets, in seconds, up to an hour: a message may wait behind others, and a turn may last half an hour. */
const LATENCY = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150, 300, 600, 1_800, 3_600];

/** The bounds of buckets for the duration of a call in seconds, and for its tokens, as the gen_ai conventions give them. */
const SECONDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/**
 * The metrics that the gateway emits. A scrape shows their descriptions as `# HELP`. Every worker process reports the same
 * value for a gauge "of the installation": take the maximum over processes, never the sum. Times are in seconds, sizes in
 * bytes; such metrics have `_seconds` or `_bytes` in their Prometheus names. The gen_ai metrics are those of version 0.1 of the
 * gen_ai conventions; two metrics of version 1.41 remain for one release.
 */
const TABLE = {
  overflows: counter('spillway.context_overflow', 'Context overflows found, by kind and stage.'),
  recoveries: counter('spillway.recovery', 'Steps of a recovery, by action and result.'),
  invalidRequests: counter('spillway.request.invalid', 'Requests not sent, by the rule of the API that they break.'),
  tools: counter('spillway.tool.calls', 'Finished tool calls, by tool (unknown: one that we do not offer) and result.'),
  outcomes: counter('spillway.outcomes', 'Messages that ended, by outcome.'),
  accepted: counter('spillway.messages.accepted', 'Messages accepted, without duplicates.'),
  ignored: counter('spillway.updates.ignored', 'Updates ignored, by reason.'),
  refusedDeliveries: counter('spillway.webhook.refused', 'Webhook deliveries not answered with 200, by status.'),
  unknownSends: counter('spillway.sends.unknown', 'Sends with an unknown result; resent is true for the last try.'),
  latency: histogram('spillway.message.latency', 'Time from a message to its outcome, by outcome.', 's', LATENCY),
  modelCalls: counter('spillway.model.calls', 'Calls of a model, by model, purpose and result (ok, or why it failed).'),
  modelTokens: counter('spillway.model.tokens', 'Tokens that calls were billed, by model, purpose and kind.'),
  modelCost: counter('spillway.model.cost.dollars', 'US dollars of calls with a known price, by model and purpose.'),
  callDuration: histogram('gen_ai.client.inference.duration', 'Duration of a call of a model.', 's', SECONDS),
  firstChunk: histogram('gen_ai.client.inference.time_to_first_chunk', 'Time to the first chunk.', 's', SECONDS),
  callInput: histogram('gen_ai.client.inference.operation.input_tokens', 'Input tokens of a call.', '{token}', TOKENS),
  callOutput: histogram('gen_ai.client.inference.operation.output_tokens', 'Output of a call.', '{token}', TOKENS),
  inputTokens: counter('gen_ai.client.inference.usage.input_tokens', 'Input tokens, cached or not.', '{token}'),
  outputTokens: counter('gen_ai.client.inference.usage.output_tokens', 'Output tokens, thinking or not.', '{token}'),
  cacheRead: counter('gen_ai.client.inference.usage.cache_read.input_tokens', 'Tokens read from the cache.', '{token}'),
  cacheWrite: counter('gen_ai.client.inference.usage.cache_write.input_tokens', 'Tokens put in the cache.', '{token}'),
  thinking: counter('gen_ai.client.inference.usage.reasoning.output_tokens', 'Tokens of thinking.', '{token}'),
  oldCallTokens: histogram('gen_ai.client.token.usage', 'Tokens of a call, older name.', '{token}', TOKENS),
  oldCallDuration: histogram('gen_ai.client.operation.duration', 'Duration of a call, older name.', 's', SECONDS),
  telegramCalls: counter('spillway.telegram.calls', 'Calls of the Bot API, by method and result.'),
  retries: counter('spillway.turns.postponed', 'Attempts that ended without an outcome, by reason.'),
  pending: gauge('spillway.messages.pending', 'Messages without an outcome. Of the installation.'),
  unansweredAge: gauge(
    'spillway.messages.unanswered.age',
    'Longest wait for an answer, or 0. Of the installation.',
    's',
  ),
  lanes: gauge('spillway.lanes', 'Lanes that hold messages. Of the installation.'),
  laneDepth: gauge('spillway.lane.depth', 'Messages in the longest lane. Of the installation.'),
  jobs: gauge('spillway.jobs', 'Jobs, by state (waiting, active, delayed). Of the installation.'),
  deadLetters: gauge('spillway.dead_letters', 'Failed messages that are kept. Of the installation.'),
  alertBacklog: gauge('spillway.alerts.backlog', 'Alerts that have not reached the operator. Of the installation.'),
  incidents: gauge('spillway.incidents.open', 'Open incidents, by cause. Of the installation.'),
  pollAge: gauge('spillway.poll.age', 'Time since Telegram answered a poll or a check. Of the installation.', 's'),
  providerFailing: gauge(
    'spillway.provider.failing.age',
    'Age of the outage of models, or 0. Of the installation.',
    's',
  ),
  telegramAway: gauge('spillway.telegram.away.age', 'Age of the outage of Telegram, or 0. Of the installation.', 's'),
  redisMemoryShare: gauge('spillway.redis.memory.share', 'Share of the limit of Redis in use. Of the installation.'),
  redisMemory: gauge('spillway.redis.memory.used', 'Memory that Redis uses. Of the installation.', 'By'),
  redisUnwritten: gauge('spillway.redis.unwritten', '1 while Redis cannot write its files. Of the installation.'),
  redisUp: gauge('spillway.redis.up', '1 when this process can read the gauges of the installation; 0: they are old.'),
  workers: gauge('spillway.workers', 'Worker processes that reported lately. Of the installation.'),
  turns: gauge('spillway.turns.running', 'Turns that run in this process, by the step (a span) that they are in.'),
  turnAge: gauge('spillway.turns.running.age', 'Age of the oldest attempt in this process, 0 when none runs.', 's'),
  breaker: gauge('spillway.breaker.open', '1 while this process makes no calls of a model that fails, by model.'),
  cacheUsed: gauge('spillway.cache.used', 'Estimate of what this process keeps of chats in memory.', 'By'),
  loopDelay: gauge('nodejs.eventloop.delay.p99', 'Delay of the event loop lately, 99th percentile.', 's'),
  loopUse: gauge('nodejs.eventloop.utilization', 'Share of time that the event loop was busy lately.'),
  heapUsed: gauge('v8js.memory.heap.used', 'Heap in use.', 'By'),
  heapLimit: gauge('v8js.memory.heap.limit', 'The most that the heap may grow to.', 'By'),
  gcTime: counter('v8js.gc.time', 'Time that garbage collection took.', 's'),
  cpuTime: counter('process.cpu.time', 'Processor time of this process.', 's'),
  memory: gauge('process.memory.usage', 'Memory of this process (RSS).', 'By'),
} as const;

/** The names of the metrics. */
export const METRIC = Object.fromEntries(Object.entries(TABLE).map(([key, { name }]) => [key, name])) as {
  readonly [Key in keyof typeof TABLE]: (typeof TABLE)[Key]['name'];
};

/** The name of one of our metrics. */
export type MetricName = (typeof METRIC)[keyof typeof METRIC];

/** Every metric by its name. */
export const METRICS: ReadonlyMap<string, Metric> = new Map(Object.values(TABLE).map((each) => [each.name, each]));

const SCOPE = 'spillway';

/** The spans and metrics of this process. Every method may be called even if nothing is exported. */
export interface Telemetry extends Instruments {
  /** Whether this process exports spans. If not, callers need not compute a costly attribute. */
  readonly isExporting: boolean;
  /** Runs `work` in a span. An error of `work` marks the span as failed and is rethrown. */
  readonly span: RunInSpan;
  /** Records a span that has already ended: an event, or a period that began at `sinceMs`. */
  mark(name: string, attributes: Attributes, at?: MarkOptions): void;
  /** The attribute that names a chat, by default by a keyed hash; no attribute if spans are not exported. */
  chat(chat: string): Attributes;
  /** Returns the metrics as Prometheus text. Counts of events begin with the first scrape. */
  scrape(): Promise<string>;
  /** The last failed export of each signal, if recent; an empty text if there is none. */
  exportTrouble(): string;
  /** Exports the remaining data. Waits at most `deadlineMs`, in case the collector does not answer. Never rejects. */
  stop(deadlineMs: number): Promise<void>;
}

/**
 * Starts OpenTelemetry. Without `signals` it sends nothing, and records metrics only after the first scrape; but every message
 * has a trace id, for logs, alerts and the ledger. The standard `OTEL_*` variables set everything that is not in `options`. The
 * SDK is larger than the gateway, so this loads the SDK only for an export.
 */
export async function startTelemetry(options: {
  serviceName: string;
  signals: Signals;
  nameChat: NameChat;
  log: Pick<Logger, 'warn'>;
}): Promise<Telemetry> {
  const { serviceName, signals } = options;
  if (signals.traces === undefined && signals.metrics === undefined) return traceIdsOnly();
  const { startExporter } = await import('./exporter.ts');
  const exporter = startExporter(serviceName, signals, options.log);
  const meters = createMeters(METRICS);
  if (signals.metrics !== undefined) meters.attach(metrics.getMeter(SCOPE));
  return telemetryOver(exporter, meters, signals.traces === undefined ? undefined : options.nameChat);
}

/** Starts telemetry that gives messages trace ids and exports nothing; metrics are available through `scrape`. */
export function traceIdsOnly(): Telemetry {
  registerTraceIds();
  return telemetryOver({ shutdown: async () => {}, trouble: () => '' }, createMeters(METRICS), undefined);
}

function telemetryOver(exporter: Omit<Exporter, 'flush'>, meters: Meters, nameChat: NameChat | undefined): Telemetry {
  const isExporting = nameChat !== undefined;
  const { count, record, observe } = meters;
  const turns = createRunningTurns();
  observe([METRIC.turns, METRIC.turnAge], async () => turns.read(METRIC));
  observeRuntime(meters, METRIC);
  let scraper: Promise<() => Promise<string>> | undefined;
  return {
    isExporting,
    span: createSpans(SCOPE, { turns, turnName: SPAN.turn, isExporting }),
    mark: isExporting ? createMarks(SCOPE) : () => {},
    chat: nameChat ? (chat) => ({ 'spillway.chat': nameChat(chat) }) : () => ({}),
    count,
    record,
    observe,
    exportTrouble: () => exporter.trouble(),
    async scrape() {
      scraper ??= import('./prometheus.ts').then(({ createScraper }) => createScraper(meters, SCOPE));
      return (await scraper)();
    },
    async stop(deadlineMs) {
      await within(exporter.shutdown(), deadlineMs).catch(() => {});
    },
  };
}

/** The attributes by which OpenTelemetry's conventions for messaging describe the operation and the destination of a span. */
export function messaging(operation: 'receive' | 'send' | 'settle', destination: 'telegram' | 'inbound'): Attributes {
  return {
    'messaging.system': destination === 'inbound' ? 'redis' : 'telegram',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': destination,
  };
}

/** The W3C traceparent of the active span; an empty text if no span is active. */
export function traceparent(): string {
  return writeTraceparent(trace.getActiveSpan()?.spanContext());
}

/** The trace id inside a traceparent; an empty text if there is none. */
export function traceIdOf(parent: string): string {
  return parent.split('-')[1] ?? '';
}

/** The telemetry and the log of a program, and the hook by which a test may kill the process. */
export interface Observability {
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}
