import { DiagLogLevel, diag, metrics, ProxyTracerProvider, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { jsonFields } from './fields.ts';
import { within } from './lifecycle.ts';
import type { Logger } from './log.ts';
import type { Signals } from './signals.ts';
import { IDS, registerIdTracer } from './trace-ids.ts';

/** Sends the spans and metrics of this process. */
export type Exporter = ReturnType<typeof startExporter>;

/**
 * Starts the OpenTelemetry SDK for this process, set by the standard `OTEL_*`. A failed export is logged when its reason is
 * new, or after a while without one.
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
  // The SDK reports failed exports to its diagnostics alone: an error as JSON, or a sentence.
  const error = (said: string): void => failures.note(jsonFields(said) ?? { message: said });
  const warn = (said: string): void => log.warn(`telemetry: ${said}`);
  const silent = (): void => {};
  const logger = { error, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  sdk.start();
  if (signals.traces === undefined) registerIdTracer();
  return {
    /** Contract: sends what is left; it may reject, and may take as long as the collector does. */
    shutdown: () => sdk.shutdown(),
    /** Why spans or metrics could not be exported lately; empty while all is well. */
    trouble: () => failures.lately(),
    /** Exports the current spans and metrics. Contract: never rejects; may take as long as the collector does. */
    async flush(): Promise<void> {
      const tracers = trace.getTracerProvider();
      const sender = tracers instanceof ProxyTracerProvider ? tracers.getDelegate() : tracers;
      const providers: (object & { forceFlush?(): Promise<void> })[] = [sender, metrics.getMeterProvider()];
      const ends = await Promise.allSettled(providers.map((each) => each.forceFlush?.()));
      const reasons = ends.flatMap((end) => (end.status === 'rejected' ? end.reason : []));
      for (const reason of reasons) failures.note(reason);
    },
  };
}

/** Exports one span and one metric of a service. Returns why that fails; empty when it does not. */
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

/** Several intervals of the SDK's export of metrics, which is a minute by default. */
const LATELY_MS = 300_000;
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

  /** Notes an error of the SDK, which names neither its signal nor the address. */
  note({ message, code }: { message?: unknown; code?: unknown }): void {
    const said = typeof message === 'string' ? message : 'no reason is known';
    const isOfMetrics = METRICS_FAILED.test(said);
    const address = isOfMetrics ? this.#signals.metrics : this.#signals.traces;
    const reason = (METRICS_REASON.exec(said)?.[1] ?? said).replace(/^\w*Error: /, '');
    const why = [code, reason].filter((part) => part !== undefined).join(' ');
    const words = `${isOfMetrics ? 'metrics' : 'spans'} cannot be exported to ${address} (${why.slice(0, WHY_CHARS)})`;
    if (!this.lately().includes(words)) this.#log.warn(`telemetry: ${words}`);
    for (const other of this.#last.keys()) if (other.startsWith('metrics') === isOfMetrics) this.#last.delete(other);
    this.#last.set(words, performance.now());
  }

  lately(): string {
    const isLate = ([, atMs]: [string, number]): boolean => performance.now() - atMs < LATELY_MS;
    return [...this.#last].flatMap((each) => (isLate(each) ? each[0] : [])).join('; ');
  }
}
