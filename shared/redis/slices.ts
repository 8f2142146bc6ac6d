/** A list in slices of at most so many, in order. Pure. */
export function* inSlices<T>(list: readonly T[], length: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += length) yield list.slice(from, from + length);
}
