import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { GaugeReading, Meters } from './meters.ts';
import type { METRIC } from './telemetry.ts';

const NS_PER_S = 1e9;
const US_PER_S = 1e6;
const MS_PER_S = 1e3;

/** Lets the meters see how Node itself fares. What has to be measured all the time is, from the first meter on. */
export function observeRuntime(meters: Meters, names: typeof METRIC): void {
  const { loopDelay, loopUse, heapUsed, heapLimit, gcTime, cpuTime, memory } = names;
  meters.onFirst(() => {
    const read = createReader(names);
    meters.observe([loopDelay, loopUse, heapUsed, heapLimit, gcTime, cpuTime, memory], async () => read());
  });
}

function createReader(names: typeof METRIC): () => GaugeReading[] {
  const delays = monitorEventLoopDelay();
  delays.enable();
  let collectedMs = 0;
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collectedMs += duration;
  });
  collections.observe({ entryTypes: ['gc'] });
  let before = performance.eventLoopUtilization();
  return () => {
    const heap = getHeapStatistics();
    const { user, system } = process.cpuUsage();
    const now = performance.eventLoopUtilization();
    const use = performance.eventLoopUtilization(now, before);
    before = now;
    const delayS = delays.count === 0 ? 0 : delays.percentile(99) / NS_PER_S;
    delays.reset();
    return [
      { metric: names.loopDelay, value: delayS },
      { metric: names.loopUse, value: use.utilization },
      { metric: names.heapUsed, value: heap.used_heap_size },
      { metric: names.heapLimit, value: heap.heap_size_limit },
      { metric: names.gcTime, value: collectedMs / MS_PER_S },
      { metric: names.cpuTime, value: (user + system) / US_PER_S },
      { metric: names.memory, value: process.memoryUsage.rss() },
    ];
  };
}
