/**
 * Corrects stored times for steps of Redis' clock, during one check. A time in the future was written before the clock
 * stepped back: `seen` returns the moment at which this process first read it. A time from before a forward step would
 * seem too old: `seen` adds the step.
 *
 * Contract: `seen` throws if a time is not a finite number.
 */
export interface Look {
  seen(name: string, ms: number): number;
  /** The reading of the clock `ms` milliseconds ago, before any step since. */
  ago(ms: number): number;
  /** Ends the check, and removes the future times that this check did not read. */
  end(): void;
}

/** A forward step of the clock: the time without the step (by the steady clock), and the size of the step. */
interface Step {
  atMs: number;
  byMs: number;
}

/** Smaller differences are no steps: the process may have paused between reading the two clocks. */
const STEP_MS_MIN = 2_000;
/** The most forward steps in memory; older ones are dropped. */
const STEPS_MAX = 8;

/** Remembers, by a clock that never steps, when future times were first read, and the forward steps of Redis' clock. */
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

/** Corrects the times in a record, i.e. the numbers in fields that end with `Ms`, also in nested records. */
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
