import type { RedisClient } from './connection.ts';

/** The fields of a hash or of a stream entry, which Redis replies as a flat list of names and values. Pure. */
export function fieldsOf(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) fields.set(flat[at] ?? '', flat[at + 1] ?? '');
  return fields;
}

/** When a stream entry was made, in ms since the epoch by the clock of Redis: its id is `<ms>-<n>`. Pure. */
export function msOf(id: string): number {
  return Number(id.split('-')[0]);
}

/** Compares two ids by age, older first. Text order differs: `5-10` comes before `5-9`. Pure. */
export function compareStreamIds(one: string, other: string): number {
  return msOf(one) - msOf(other) || Number(sequenceOf(one) - sequenceOf(other));
}

/** The first id that may follow another one in a stream. Pure. */
export function idAfter(id: string): string {
  return `${id.split('-')[0]}-${sequenceOf(id) + 1n}`;
}

/** Distinguishes entries of the same ms, and takes 64 bits. */
function sequenceOf(id: string): bigint {
  return BigInt(id.split('-')[1] ?? 0);
}

/** Whether a text is the id of an entry. Pure. */
export function isStreamId(text: string): boolean {
  return /^\d+-\d+$/.test(text);
}

/** A list in slices of at most so many, in order. Pure. */
export function* inSlices<T>(list: readonly T[], length: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += length) yield list.slice(from, from + length);
}

/** An entry of a stream, with its fields as a flat list. */
export type StreamEntry = [id: string, fields: string[]];

/** The first field of that name: our own fields stand first, and those that follow them may have any name. Pure. */
export function fieldIn(fields: readonly string[], name: string): string | undefined {
  return fields.find((_, at) => at % 2 === 1 && fields[at - 1] === name);
}

/** The entries of a stream from a place on, read in pages, as far as somebody reads on. Rejects as Redis does. */
export async function* entriesFrom(
  redis: RedisClient,
  stream: string,
  begin: string,
  { page, isBackwards = false }: { page: number; isBackwards?: boolean },
): AsyncGenerator<StreamEntry> {
  for (let from = begin; ; ) {
    const entries = isBackwards
      ? await redis.xrevrange(stream, from, '-', 'COUNT', page)
      : await redis.xrange(stream, from, '+', 'COUNT', page);
    yield* entries;
    const last = entries.at(-1)?.[0];
    if (last === undefined || entries.length < page) return;
    from = `(${last}`;
  }
}
