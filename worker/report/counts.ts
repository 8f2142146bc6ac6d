/** How often each of several things was seen. */
export type Counts = Record<string, number>;

/** Counts one more. */
export function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
