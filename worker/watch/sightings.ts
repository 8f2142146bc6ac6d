/**
 * Corrects stored times for steps of the clock, during one look. A time in the future was written before the clock stepped
 * back; `seen` replaces it by the moment when this process first saw it. A time from before a forward step would look too
 * old; `seen` adds the step to it.
 *
 * Contract: `seen` throws if a time is not a finite number.
 */
export interface Look {
  seen(name: string, ms: number): number;
  /** The reading of the clock `ms` milliseconds ago, before any step since. */
  ago(ms: number): number;
  /** Ends the look: what was not seen in it is forgotten. */
  end(): void;
}

/** A forward step of the clock: the time that the steady clock predicted, and how far ahead of it the clock was. */
interface Step {
  atMs: number;
  byMs: number;
}

/** A process that stands still between two readings of clocks seems to see a step. */
const STEP_MS_MIN = 2_000;
/** How many forward steps are remembered; older steps are forgotten. */
const STEPS_KEPT = 8;

/** Keeps when times that lie ahead were first seen, and how the clock stepped forward, by a clock that never steps. */
export function createSightings(steadyMs = () => performance.now()): (nowMs: number) => Look {
  let before: ReadonlyMap<string, number> = new Map();
  let steps: readonly Step[] = [];
  let last: { nowMs: number; steadyMs: number } | undefined;
  return (nowMs) => {
    const ahead = new Map<string, number>();
    const steady = steadyMs();
    const expectedMs = last === undefined ? nowMs : last.nowMs + steady - last.steadyMs;
    if (nowMs - expectedMs >= STEP_MS_MIN)
      steps = [...steps, { atMs: expectedMs, byMs: nowMs - expectedMs }].slice(-STEPS_KEPT);
    last = { nowMs, steadyMs: steady };
    return {
      seen(name, ms) {
        if (!Number.isFinite(ms)) throw new RangeError(`The time of ${name} cannot be read`);
        if (ms <= nowMs) return Math.round(steps.reduce((at, { atMs, byMs }) => (at <= atMs ? at + byMs : at), ms));
        const sight = `${name} ${ms}`;
        const firstMs = before.get(sight) ?? steadyMs();
        ahead.set(sight, firstMs);
        return Math.round(nowMs - (steadyMs() - firstMs));
      },
      ago: (ms) =>
        steps.reduceRight((at, { atMs, byMs }) => (at >= atMs + byMs ? at : Math.min(at - byMs, atMs)), nowMs - ms),
      end() {
        before = ahead;
      },
    };
  };
}

/** A record whose times, the numbers in its fields `…Ms`, are those of a look; records within it are too. */
export function timesSeen<T extends object | undefined>(name: string, record: T, look: Look): T {
  if (record === undefined) return record;
  const fields = Object.entries(record).map(([field, value]: [string, unknown]) => {
    const path = `${name} ${field}`;
    if (typeof value === 'number' && field.endsWith('Ms')) return [field, look.seen(path, value)];
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [field, isRecord ? timesSeen(path, value, look) : value];
  });
  return Object.fromEntries(fields) as T;
}
