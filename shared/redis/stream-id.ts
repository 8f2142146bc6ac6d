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
