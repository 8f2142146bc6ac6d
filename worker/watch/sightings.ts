/**
 * The times of one look as this process may use them. A time that lies ahead was written before the clock stepped back,
 * and would look young for as long as the step is: it counts from when this process first saw it.
 *
 * Contract: `seen` throws where a time is none.
 */
export interface Look {
  seen(name: string, ms: number): number;
  /** Ends the look: what was not seen in it is forgotten. */
  end(): void;
}

/** Keeps when times that lie ahead were first seen, by a clock that never steps. */
export function createSightings(steadyMs = () => performance.now()): (nowMs: number) => Look {
  let before: ReadonlyMap<string, number> = new Map();
  return (nowMs) => {
    const ahead = new Map<string, number>();
    return {
      seen(name, ms) {
        if (!Number.isFinite(ms)) throw new RangeError(`The time of ${name} cannot be read`);
        if (ms <= nowMs) return ms;
        const sight = `${name} ${ms}`;
        const firstMs = before.get(sight) ?? steadyMs();
        ahead.set(sight, firstMs);
        return nowMs - (steadyMs() - firstMs);
      },
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
