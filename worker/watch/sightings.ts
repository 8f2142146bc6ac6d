/**
 * The times of one look as this process may use them. A time that lies ahead was written before the clock stepped back,
 * and would look young for as long as the step is: it counts from when this process first saw it. A time from before the
 * clock stepped forward would look older by the step: the step is added to it.
 *
 * Contract: `seen` throws where a time is none.
 */
export interface Look {
  seen(name: string, ms: number): number;
  /** What the clock showed so long ago, in ms. */
  ago(ms: number): number;
  /** Ends the look: what was not seen in it is forgotten. */
  end(): void;
}

/** A step of the clock forward: what it would have shown by the steady clock, and by how much more it did. */
interface Step {
  atMs: number;
  byMs: number;
}

/** A process that stands still between two readings of clocks seems to see a step. */
const STEP_MS_MIN = 2_000;
/** Older ones are of no use: nothing is watched for so long. */
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
        if (ms <= nowMs) return steps.reduce((at, { atMs, byMs }) => (at <= atMs ? at + byMs : at), ms);
        const sight = `${name} ${ms}`;
        const firstMs = before.get(sight) ?? steadyMs();
        ahead.set(sight, firstMs);
        return nowMs - (steadyMs() - firstMs);
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
