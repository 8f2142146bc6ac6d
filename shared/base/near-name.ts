/** The share of a name that may be wrong in it. */
const WRONG_SHARE = 1 / 3;

/** The known name that somebody meant who wrote another one; `undefined` where none is near. Pure. */
export function nearName(written: string, known: readonly string[]): string | undefined {
  const near = known.map((name) => ({ name, edits: editsBetween(written, name) }));
  const [best] = near.toSorted((one, other) => one.edits - other.edits);
  return best !== undefined && best.edits <= written.length * WRONG_SHARE ? best.name : undefined;
}

/** How many letters must be added, removed or changed to turn one word into the other. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let to = 1; to <= other.length; to++) {
      const changed = (row[to - 1] ?? 0) + (letter === other[to - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
