import type { Attributes, Meter, Observable } from '@opentelemetry/api';
import type { HistogramName, MetricName } from './telemetry.ts';

/** The unit of a metric, in the words of OpenTelemetry. */
export type Unit = 'ms' | 's' | 'By' | '{token}';

/** The value of a gauge now. */
export interface GaugeReading {
  metric: MetricName;
  value: number;
  attributes?: Attributes;
}

/** Contract: called only to export; when it rejects, its gauges stay as they were. */
export type ReadGauges = () => Promise<readonly GaugeReading[]>;

/** Units and kinds of metrics. */
export interface MetricShapes {
  units: Readonly<Partial<Record<MetricName, Unit>>>;
  /** Those among the observed ones that only grow. */
  observedCounters: ReadonlySet<MetricName>;
  buckets: Readonly<Record<HistogramName, number[]>>;
}

/** How Prometheus names what an OpenTelemetry collector exports: it adds the unit, except one in braces. */
const UNIT_WORDS: Readonly<Partial<Record<Unit, string>>> = { ms: 'milliseconds', s: 'seconds', By: 'bytes' };

/** Our metrics, on as many meters as there are exporters: none at first, and then nothing is computed. */
export interface Meters {
  /** Lets another exporter see all metrics from now on, where asked with their units in the names. */
  attach(meter: Meter, naming?: 'units in names'): void;
  count(metric: MetricName, attributes: Attributes, by?: number): void;
  record(metric: HistogramName, value: number, attributes: Attributes): void;
  observe(gauges: readonly MetricName[], read: ReadGauges): () => void;
  /** Calls back once, when the first meter is attached. */
  onFirst(start: () => void): void;
}

/** Counters and gauges on one meter. */
interface Instruments {
  count(metric: MetricName, attributes: Attributes, by: number): void;
  record(metric: HistogramName, value: number, attributes: Attributes): void;
  observe(gauges: readonly MetricName[], read: ReadGauges): () => void;
}

/** A source of gauges, with what ends it on each meter. */
interface Source {
  gauges: readonly MetricName[];
  read: ReadGauges;
  ends: (() => void)[];
}

/** No meters yet. */
export function createMeters(shapes: MetricShapes): Meters {
  const all: Instruments[] = [];
  const sources = new Set<Source>();
  const starts: (() => void)[] = [];
  return {
    attach(meter, naming) {
      const instruments = instrumentsOn(meter, shapes, naming === 'units in names');
      all.push(instruments);
      for (const source of sources) source.ends.push(instruments.observe(source.gauges, source.read));
      for (const start of starts.splice(0)) start();
    },
    count(metric, attributes, by = 1) {
      for (const instruments of all) instruments.count(metric, attributes, by);
    },
    record(metric, value, attributes) {
      for (const instruments of all) instruments.record(metric, value, attributes);
    },
    observe(gauges, read) {
      const source: Source = { gauges, read, ends: all.map((instruments) => instruments.observe(gauges, read)) };
      sources.add(source);
      return () => {
        sources.delete(source);
        for (const end of source.ends) end();
      };
    },
    onFirst: (start) => void (all.length === 0 ? starts.push(start) : start()),
  };
}

function instrumentsOn(meter: Meter, shapes: MetricShapes, hasUnitsInNames: boolean): Instruments {
  const named = (metric: MetricName) => nameOf(metric, shapes, hasUnitsInNames);
  const counters = onceFor((metric: MetricName) => meter.createCounter(...named(metric)));
  const histograms = onceFor((metric: HistogramName) => {
    const [name, options] = named(metric);
    return meter.createHistogram(name, { ...options, advice: { explicitBucketBoundaries: shapes.buckets[metric] } });
  });
  const observables = onceFor((metric: MetricName): Observable => {
    if (shapes.observedCounters.has(metric)) return meter.createObservableCounter(...named(metric));
    return meter.createObservableGauge(...named(metric));
  });
  return {
    count: (metric, attributes, by) => counters(metric).add(by, attributes),
    record: (metric, value, attributes) => histograms(metric).record(value, attributes),
    observe(gauges, read) {
      const observed = gauges.map(observables);
      const callback: Parameters<Meter['addBatchObservableCallback']>[0] = async (result) => {
        const readings = await read().catch(() => []);
        for (const { metric, value, attributes } of readings) result.observe(observables(metric), value, attributes);
      };
      meter.addBatchObservableCallback(callback, observed);
      return () => meter.removeBatchObservableCallback(callback, observed);
    },
  };
}

/** The instrument's name and unit, which is the end of the name where the exporter would not put it there. */
function nameOf(metric: MetricName, { units }: MetricShapes, hasUnitInName: boolean): [string, { unit?: string }] {
  const unit = units[metric];
  if (unit === undefined) return [metric, {}];
  const word = UNIT_WORDS[unit];
  return hasUnitInName && word !== undefined ? [`${metric}.${word}`, {}] : [metric, { unit }];
}

function onceFor<Name extends MetricName, T>(create: (metric: Name) => T): (metric: Name) => T {
  const made = new Map<Name, T>();
  return (metric) => {
    const instrument = made.get(metric) ?? create(metric);
    made.set(metric, instrument);
    return instrument;
  };
}
