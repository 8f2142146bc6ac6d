import { DiagLogLevel, diag, metrics, ProxyTracerProvider, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { jsonFields } from './fields.ts';
import { within } from './lifecycle.ts';
import type { Logger } from './log.ts';
import type { Signals } from './signals.ts';
import { IDS, registerIdTracer } from './trace-ids.ts';

/** The exporter of this process's spans and metrics. */
export type Exporter = ReturnType<typeof startExporter>;

/**
 * Starts the OpenTelemetry SDK for this process, which reads the standard `OTEL_*` variables. Logs a failed export, unless it
 * repeats the last failure of the same signal within five minutes.
 */
export function startExporter(serviceName: string, signals: Signals, log: Pick<Logger, 'warn'>) {
  const sdk = new NodeSDK({
    serviceName,
    logRecordProcessors: [],
    idGenerator: IDS,
    ...(signals.metrics === undefined && { metricReaders: [] }),
    ...(signals.traces === undefined && { spanProcessors: [] }),
  });
  const failures = new ExportFailures(signals, log);
  // The SDK reports failed exports only to its diagnostic logger, as JSON or as a sentence.
  const error = (message: string): void => failures.note(jsonFields(message) ?? { message });
  const warn = (message: string): void => log.warn(`telemetry: ${message}`);
  const silent = (): void => {};
  const logger = { error, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  sdk.start();
  if (signals.traces === undefined) registerIdTracer();
  return {
    /** Exports the rest. Contract: may reject, and may take as long as the collector does. */
    shutdown: () => sdk.shutdown(),
    /** The failures of exports in the last five minutes; empty if there are none. */
    trouble: () => failures.recent(),
    /** Exports the current spans and metrics. Contract: never rejects; may take as long as the collector does. */
    async flush(): Promise<void> {
      const tracers = trace.getTracerProvider();
      const sender = tracers instanceof ProxyTracerProvider ? tracers.getDelegate() : tracers;
      const providers: (object & { forceFlush?(): Promise<void> })[] = [sender, metrics.getMeterProvider()];
      const results = await Promise.allSettled(providers.map((each) => each.forceFlush?.()));
      const reasons = results.flatMap((result) => (result.status === 'rejected' ? result.reason : []));
      for (const reason of reasons) failures.note(reason);
    },
  };
}

/** Exports one span and one metric of a service as a test. Returns the failures; empty if there are none. */
export async function tryExport(serviceName: string, signals: Signals, deadlineMs: number): Promise<string> {
  const { flush, trouble } = startExporter(serviceName, signals, { warn: () => {} });
  trace.getTracer(serviceName).startSpan('check').end();
  metrics.getMeter(serviceName).createCounter('spillway.check').add(1);
  const isOver = await within(
    flush().then(() => true),
    deadlineMs,
  );
  return isOver ? trouble() : `no answer of ${Object.values(signals).join(', ')} in ${deadlineMs} ms`;
}

/** The time for which a failure is recent: several intervals of the SDK's exports of metrics, by default a minute each. */
const RECENT_MS = 300_000;
const WHY_CHARS = 200;
const METRICS_FAILED = /^PeriodicExportingMetricReader: /;
const METRICS_REASON = /metrics export failed \(error (.*)\)$/s;

/** The last failure of each signal. */
class ExportFailures {
  readonly #last = new Map<string, number>();
  readonly #signals: Signals;
  readonly #log: Pick<Logger, 'warn'>;

  constructor(signals: Signals, log: Pick<Logger, 'warn'>) {
    this.#signals = signals;
    this.#log = log;
  }

  /** Notes an error of the SDK. An error of metrics has a prefix; any other counts as one of spans. */
  note({ message, code }: { message?: unknown; code?: unknown }): void {
    const text = typeof message === 'string' ? message : 'no reason is known';
    const isOfMetrics = METRICS_FAILED.test(text);
    const address = isOfMetrics ? this.#signals.metrics : this.#signals.traces;
    const reason = (METRICS_REASON.exec(text)?.[1] ?? text).replace(/^\w*Error: /, '');
    const why = [code, reason].filter((part) => part !== undefined).join(' ');
    const failure = `${isOfMetrics ? 'metrics' : 'spans'} cannot be exported to ${address} (${why.slice(0, WHY_CHARS)})`;
    if (!this.recent().includes(failure)) this.#log.warn(`telemetry: ${failure}`);
    for (const other of this.#last.keys()) if (other.startsWith('metrics') === isOfMetrics) this.#last.delete(other);
    this.#last.set(failure, performance.now());
  }

  recent(): string {
    const isRecent = ([, atMs]: [string, number]): boolean => performance.now() - atMs < RECENT_MS;
    return [...this.#last].flatMap((each) => (isRecent(each) ? each[0] : [])).join('; ');
  }
}
