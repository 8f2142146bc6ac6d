import type { RedisClient } from './connection.ts';

/** The fields of a hash or of a stream entry, from Redis' flat list of names and values. Pure. */
export function fieldsOf(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) fields.set(flat[at] ?? '', flat[at + 1] ?? '');
  return fields;
}

/** The creation time of a stream entry, in ms since the epoch by Redis' clock. The id `<ms>-<n>` contains this time. Pure. */
export function msOf(id: string): number {
  return Number(id.split('-')[0]);
}

/** Compares the ids of two stream entries, the older one first. As texts, `5-10` would precede `5-9`. Pure. */
export function compareStreamIds(one: string, other: string): number {
  return msOf(one) - msOf(other) || Number(sequenceOf(one) - sequenceOf(other));
}

/** The smallest id of a stream entry that is greater than `id`. Pure. */
export function idAfter(id: string): string {
  return `${id.split('-')[0]}-${sequenceOf(id) + 1n}`;
}

/** The 64-bit number that distinguishes stream entries of the same ms. */
function sequenceOf(id: string): bigint {
  return BigInt(id.split('-')[1] ?? 0);
}

/** Whether a text is the id of a stream entry. Pure. */
export function isStreamId(text: string): boolean {
  return /^\d+-\d+$/.test(text);
}

/** Divides a list into slices of at most `length` items, in order. Pure. */
export function* inSlices<T>(list: readonly T[], length: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += length) yield list.slice(from, from + length);
}

/** An entry of a stream, with its fields as a flat list. */
export type StreamEntry = [id: string, fields: string[]];

/** The value of the first field with the given name. A dead letter's own fields precede those of its message. Pure. */
export function fieldIn(fields: readonly string[], name: string): string | undefined {
  return fields.find((_, at) => at % 2 === 1 && fields[at - 1] === name);
}

/**
 * Yields at most `max` entries from an id on, or with `isBackwards` back from the id, in pages. Rejects when Redis cannot be
 * reached.
 */
export async function* entriesFrom(
  redis: RedisClient,
  stream: string,
  begin: string,
  { page, isBackwards = false, max = Infinity }: { page: number; isBackwards?: boolean; max?: number },
): AsyncGenerator<StreamEntry> {
  let from = begin;
  for (let missing = max; missing > 0; missing -= page) {
    const count = Math.min(page, missing);
    const entries = isBackwards
      ? await redis.xrevrange(stream, from, '-', 'COUNT', count)
      : await redis.xrange(stream, from, '+', 'COUNT', count);
    yield* entries;
    const last = entries.at(-1)?.[0];
    if (last === undefined || entries.length < count) return;
    from = `(${last}`;
  }
}
