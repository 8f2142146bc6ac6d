import type { Attributes, Meter, MetricOptions, Observable } from '@opentelemetry/api';
import type { MetricName } from './telemetry.ts';

/** The unit of a metric, as OpenTelemetry writes it. */
export type Unit = 's' | 'By' | '{token}';

/** The definition of a metric. */
export interface Metric<Name extends string = string> {
  name: Name;
  kind: 'counter' | 'gauge' | 'histogram';
  /** A description for people who read the metric. Names the attributes, unless the gen_ai conventions define the metric. */
  help: string;
  unit?: Unit | undefined;
  /** The upper bounds of a histogram's buckets, in its unit; empty for other kinds. */
  buckets: number[];
}

type Define = <const Name extends string>(name: Name, help: string, unit?: Unit, buckets?: number[]) => Metric<Name>;

function definer(kind: Metric['kind']): Define {
  return (name, help, unit, buckets = []) => ({ name, kind, help, unit, buckets });
}

export const counter = definer('counter');
export const gauge = definer('gauge');
export const histogram = definer('histogram');

/** The present value of a metric that is read on demand: a gauge, or a counter that e.g. Node keeps. */
export interface GaugeReading {
  metric: MetricName;
  value: number;
  attributes?: Attributes;
}

/** Reads gauges for an export. Contract: may reject; the gauges then keep their last values. */
type ReadGauges = () => Promise<readonly GaugeReading[]>;

/** The word for a unit that a collector appends to a metric's name in Prometheus. A unit in braces gets no word. */
const UNIT_WORDS: Readonly<Partial<Record<Unit, string>>> = { s: 'seconds', By: 'bytes' };

/** The gateway's metrics, with one meter for each exporter. Without an exporter nothing is computed. */
export type Meters = ReturnType<typeof createMeters>;
export type Instruments = Omit<Meters, 'attach'>;

/** Some gauges and the function that reads them. `removals` holds one function for each meter, to unregister the gauges. */
interface Source {
  gauges: readonly MetricName[];
  read: ReadGauges;
  removals: (() => void)[];
}

/** Creates the gateway's metrics, at first without any meter. */
export function createMeters(metrics: ReadonlyMap<string, Metric>) {
  const all: Instruments[] = [];
  const sources = new Set<Source>();
  return {
    /** Adds the meter of an exporter. The meter gets all metrics from now on. With `naming`, units are part of the names. */
    attach(meter: Meter, naming?: 'units in names'): void {
      const instruments = instrumentsOn(meter, metrics, naming === 'units in names');
      all.push(instruments);
      for (const source of sources) source.removals.push(instruments.observe(source.gauges, source.read));
    },
    count(metric: MetricName, attributes: Attributes, by = 1): void {
      for (const instruments of all) instruments.count(metric, attributes, by);
    },
    record(metric: MetricName, value: number, attributes: Attributes): void {
      for (const instruments of all) instruments.record(metric, value, attributes);
    },
    observe(gauges: readonly MetricName[], read: ReadGauges): () => void {
      const source: Source = { gauges, read, removals: all.map((instruments) => instruments.observe(gauges, read)) };
      sources.add(source);
      return () => {
        sources.delete(source);
        for (const remove of source.removals) remove();
      };
    },
  };
}

function instrumentsOn(meter: Meter, metrics: ReadonlyMap<string, Metric>, hasUnitsInNames: boolean) {
  const metricOf = (name: MetricName) => metrics.get(name) as Metric;
  const argumentsFor = (metric: MetricName) => nameOf(metricOf(metric), hasUnitsInNames);
  const counters = memoize((metric: MetricName) => meter.createCounter(...argumentsFor(metric)));
  const histograms = memoize((metric: MetricName) => {
    const [name, options] = argumentsFor(metric);
    const explicitBucketBoundaries = metricOf(metric).buckets;
    return meter.createHistogram(name, { ...options, advice: { explicitBucketBoundaries } });
  });
  const observables = memoize((metric: MetricName): Observable => {
    if (metricOf(metric).kind === 'counter') return meter.createObservableCounter(...argumentsFor(metric));
    return meter.createObservableGauge(...argumentsFor(metric));
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

/** The name and the options of an instrument. `hasUnitInName`: the exporter does not add the unit, so the name contains it. */
function nameOf({ name, unit, help: description }: Metric, hasUnitInName: boolean): [string, MetricOptions] {
  const word = unit && UNIT_WORDS[unit];
  if (hasUnitInName && word !== undefined) return [`${name}.${word}`, { description }];
  return [name, { description, ...(unit !== undefined && { unit }) }];
}

function memoize<Name extends MetricName, T>(create: (metric: Name) => T): (metric: Name) => T {
  const instruments = new Map<Name, T>();
  return (metric) => {
    const instrument = instruments.get(metric) ?? create(metric);
    instruments.set(metric, instrument);
    return instrument;
  };
}
