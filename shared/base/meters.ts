import type { Attributes, Meter, MetricOptions, Observable } from '@opentelemetry/api';
import type { MetricName } from './telemetry.ts';

/** The unit of a metric, in the words of OpenTelemetry. */
export type Unit = 's' | 'By' | '{token}';

/** The definition of a metric. */
export interface Metric<Name extends string = string> {
  name: Name;
  kind: 'counter' | 'gauge' | 'histogram';
  /** One sentence for whoever reads the metric, with the names of its attributes. */
  help: string;
  unit?: Unit | undefined;
  /** Upper bounds of a histogram's buckets, in its unit. */
  buckets: number[];
}

type Define = <const Name extends string>(name: Name, help: string, unit?: Unit, buckets?: number[]) => Metric<Name>;

function definer(kind: Metric['kind']): Define {
  return (name, help, unit, buckets = []) => ({ name, kind, help, unit, buckets });
}

export const counter = definer('counter');
export const gauge = definer('gauge');
export const histogram = definer('histogram');

/** The value of a gauge now. */
export interface GaugeReading {
  metric: MetricName;
  value: number;
  attributes?: Attributes;
}

/** Contract: called only to export; when it rejects, its gauges stay as they were. */
type ReadGauges = () => Promise<readonly GaugeReading[]>;

/** How Prometheus names what an OpenTelemetry collector exports: it adds the unit, except one in braces. */
const UNIT_WORDS: Readonly<Partial<Record<Unit, string>>> = { s: 'seconds', By: 'bytes' };

/** Our metrics, on as many meters as there are exporters: none at first, and then nothing is computed. */
export type Meters = ReturnType<typeof createMeters>;
export type Instruments = Omit<Meters, 'attach'>;

/** A source of gauges, with what ends it on each meter. */
interface Source {
  gauges: readonly MetricName[];
  read: ReadGauges;
  ends: (() => void)[];
}

/** No meters yet. */
export function createMeters(metrics: ReadonlyMap<string, Metric>) {
  const all: Instruments[] = [];
  const sources = new Set<Source>();
  return {
    /** Lets another exporter see all metrics from now on, where asked with their units in the names. */
    attach(meter: Meter, naming?: 'units in names'): void {
      const instruments = instrumentsOn(meter, metrics, naming === 'units in names');
      all.push(instruments);
      for (const source of sources) source.ends.push(instruments.observe(source.gauges, source.read));
    },
    count(metric: MetricName, attributes: Attributes, by = 1): void {
      for (const instruments of all) instruments.count(metric, attributes, by);
    },
    record(metric: MetricName, value: number, attributes: Attributes): void {
      for (const instruments of all) instruments.record(metric, value, attributes);
    },
    observe(gauges: readonly MetricName[], read: ReadGauges): () => void {
      const source: Source = { gauges, read, ends: all.map((instruments) => instruments.observe(gauges, read)) };
      sources.add(source);
      return () => {
        sources.delete(source);
        for (const end of source.ends) end();
      };
    },
  };
}

function instrumentsOn(meter: Meter, metrics: ReadonlyMap<string, Metric>, hasUnitsInNames: boolean) {
  const metricOf = (name: MetricName) => metrics.get(name) as Metric;
  const named = (metric: MetricName) => nameOf(metricOf(metric), hasUnitsInNames);
  const counters = onceFor((metric: MetricName) => meter.createCounter(...named(metric)));
  const histograms = onceFor((metric: MetricName) => {
    const [name, options] = named(metric);
    const explicitBucketBoundaries = metricOf(metric).buckets;
    return meter.createHistogram(name, { ...options, advice: { explicitBucketBoundaries } });
  });
  const observables = onceFor((metric: MetricName): Observable => {
    if (metricOf(metric).kind === 'counter') return meter.createObservableCounter(...named(metric));
    return meter.createObservableGauge(...named(metric));
  });
  return {
    count: (metric: MetricName, attributes: Attributes, by = 1) => counters(metric).add(by, attributes),
    record: (metric: MetricName, value: number, attributes: Attributes) => histograms(metric).record(value, attributes),
    observe(gauges: readonly MetricName[], read: ReadGauges): () => void {
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

/** The instrument's name, unit and description; the unit is the end of the name where the exporter would not put it there. */
function nameOf({ name, unit, help: description }: Metric, hasUnitInName: boolean): [string, MetricOptions] {
  const word = unit && UNIT_WORDS[unit];
  if (hasUnitInName && word !== undefined) return [`${name}.${word}`, { description }];
  return [name, { description, ...(unit !== undefined && { unit }) }];
}

function onceFor<Name extends MetricName, T>(create: (metric: Name) => T): (metric: Name) => T {
  const made = new Map<Name, T>();
  return (metric) => {
    const instrument = made.get(metric) ?? create(metric);
    made.set(metric, instrument);
    return instrument;
  };
}
