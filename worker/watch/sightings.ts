import type { SteadyTimes } from '../../shared/state/lane/overdue.ts';

/**
 * Corrects stored times for steps of Redis' clock, during one check. A time in the future was written before the clock
 * stepped back: `seen` returns the moment at which this process first read this time. A time from before a forward step of
 * the clock would seem too old: `seen` adds the size of the step.
 *
 * Contract: `seen` throws if a time is not a finite number.
 */
export interface Look extends SteadyTimes {
  /** Ends the check, and forgets the future times that were not read during this check. */
  end(): void;
}

/** A forward step of Redis' clock: the time that the clock would have shown without the step, and the size of the step. */
interface Step {
  atMs: number;
  byMs: number;
}

/** Smaller differences do not count as steps, because the process may pause between reading the two clocks. */
const STEP_MS_MIN = 2_000;
/** The maximum number of forward steps in memory; older ones are dropped. */
const STEPS_MAX = 8;

/**
 * Creates a function that begins a check. With a clock that never steps, the function finds and remembers the forward steps of
 * Redis' clock. For each time in the future, it also remembers when this process first read that time.
 */
export function createSightings(steadyMs = () => performance.now()): (nowMs: number) => Look {
  let previousFutureTimes: ReadonlyMap<string, number> = new Map();
  let steps: readonly Step[] = [];
  let last: { nowMs: number; steadyMs: number } | undefined;
  return (nowMs) => {
    const futureTimes = new Map<string, number>();
    const steady = steadyMs();
    const expectedMs = last === undefined ? nowMs : last.nowMs + steady - last.steadyMs;
    if (nowMs - expectedMs >= STEP_MS_MIN)
      steps = [...steps, { atMs: expectedMs, byMs: nowMs - expectedMs }].slice(-STEPS_MAX);
    last = { nowMs, steadyMs: steady };
    return {
      seen(name, ms) {
        if (!Number.isFinite(ms)) throw new RangeError(`The time of ${name} cannot be read`);
        if (ms <= nowMs) return Math.round(steps.reduce((at, { atMs, byMs }) => (at <= atMs ? at + byMs : at), ms));
        const sight = `${name} ${ms}`;
        const firstMs = previousFutureTimes.get(sight) ?? steadyMs();
        futureTimes.set(sight, firstMs);
        return Math.round(nowMs - (steadyMs() - firstMs));
      },
      ago: (ms) =>
        steps.reduceRight((at, { atMs, byMs }) => (at >= atMs + byMs ? at : Math.min(at - byMs, atMs)), nowMs - ms),
      end() {
        previousFutureTimes = futureTimes;
      },
    };
  };
}

/** Corrects the times in a record: the numbers in fields whose names end with `Ms`, also in nested records. */
export function correctTimes<T extends object | undefined>(name: string, record: T, look: Look): T {
  if (record === undefined) return record;
  const fields = Object.entries(record).map(([field, value]: [string, unknown]) => {
    const path = `${name} ${field}`;
    if (typeof value === 'number' && field.endsWith('Ms')) return [field, look.seen(path, value)];
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [field, isRecord ? correctTimes(path, value, look) : value];
  });
  return Object.fromEntries(fields) as T;
}
