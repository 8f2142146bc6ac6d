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
 * Starts the OpenTelemetry SDK for this process. The SDK reads the standard `OTEL_*` variables. Logs each failed export, unless
 * the last failure of the same signal has the same text and is less than five minutes old.
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
    /** Exports the remaining spans and metrics, and stops. Contract: may reject; takes as long as the collector needs. */
    shutdown: () => sdk.shutdown(),
    /** The last failed export of each signal, if it is less than five minutes old; an empty text if there is none. */
    trouble: () => failures.recent(),
    /** Exports the spans and metrics so far; notes failures. Contract: never rejects; takes as long as the collector needs. */
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

/** Exports one span and one metric as a test. Returns the failures or the timeout in words; an empty text if all went well. */
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

/** A failure counts as recent for this long. By default the SDK exports metrics every minute, so this spans several exports. */
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

  /** Notes an error that the SDK reports. A text that matches `METRICS_FAILED` is about metrics, any other text about spans. */
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
