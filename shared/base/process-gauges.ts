import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { type Context, createContextKey } from '@opentelemetry/api';
import type { GaugeReading, Meters } from './meters.ts';
import type { METRIC } from './telemetry.ts';

/** An attempt that runs in this process. */
interface RunningTurn {
  startedMs: number;
  /** The names of the attempt's open spans, the innermost last. */
  steps: string[];
}

/** The attempts that run in this process, with the current step of each. */
export type RunningTurns = ReturnType<typeof createRunningTurns>;

const RUNNING = createContextKey('spillway running turn');
const MS_PER_S = 1_000;

/** Creates the list of running attempts, which is empty at first. */
export function createRunningTurns() {
  const running = new Set<RunningTurn>();
  /** All steps so far. A step without attempts counts as 0, because a gauge without a value shows its old value for minutes. */
  const steps = new Set<string>();
  return {
    /** Begins an attempt. Returns the attempt's context, and a function that ends the attempt. */
    begin(ctx: Context, name: string) {
      const turn: RunningTurn = { startedMs: performance.now(), steps: [name] };
      running.add(turn);
      steps.add(name);
      return { ctx: ctx.setValue(RUNNING, turn), end: () => void running.delete(turn) };
    },
    /** Begins a step of the context's attempt, if there is an attempt. Returns a function that ends the step. */
    enter(ctx: Context, step: string): () => void {
      const turn = ctx.getValue(RUNNING) as RunningTurn | undefined;
      if (turn === undefined) return () => {};
      steps.add(step);
      turn.steps.push(step);
      return () => void turn.steps.splice(turn.steps.lastIndexOf(step), 1);
    },
    read({ turns, turnAge }: typeof METRIC): GaugeReading[] {
      const counts = new Map([...steps].map((step) => [step, 0]));
      for (const turn of running) {
        const step = turn.steps.at(-1) ?? '';
        counts.set(step, (counts.get(step) ?? 0) + 1);
      }
      const nowMs = performance.now();
      const oldestMs = Math.min(nowMs, ...[...running].map(({ startedMs }) => startedMs));
      return [
        ...[...counts].map(([step, value]) => ({ metric: turns, value, attributes: { step } })),
        { metric: turnAge, value: (nowMs - oldestMs) / MS_PER_S },
      ];
    },
  };
}

const NS_PER_S = 1e9;
const US_PER_S = 1e6;

/** Registers the gauges of this Node process. Delays and garbage collections are measured from the first reading on. */
export function observeRuntime(meters: Meters, names: typeof METRIC): void {
  const { loopDelay, loopUse, heapUsed, heapLimit, gcTime, cpuTime, memory } = names;
  let read: (() => GaugeReading[]) | undefined;
  const gauges = [loopDelay, loopUse, heapUsed, heapLimit, gcTime, cpuTime, memory];
  meters.observe(gauges, async () => {
    read ??= createReader(names);
    return read();
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
  let before = { idle: 0, active: 0, utilization: 0 };
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
