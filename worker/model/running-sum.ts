/** What was added up of a list's items so far: the sum of the first of them, at each place. */
interface Known<Item> {
  readonly items: Item[];
  readonly sums: number[];
}

/**
 * A function that adds up what each item of a list is worth. Items never change, and a list that begins with the same
 * items as an earlier one with the same first item costs no more than what is new in it. Pure as long as `worthOf` is.
 */
export function runningSum<Item extends object>(worthOf: (item: Item) => number): (items: readonly Item[]) => number {
  const known = new WeakMap<Item, Known<Item>>();
  return (items) => {
    const [first] = items;
    if (first === undefined) return 0;
    const { items: before, sums } = known.get(first) ?? { items: [], sums: [] };
    let at = 0;
    while (at < items.length && at < before.length && items[at] === before[at]) at += 1;
    let sum = sums[at - 1] ?? 0;
    before.length = at;
    sums.length = at;
    for (const item of items.slice(at)) {
      sum += worthOf(item);
      before.push(item);
      sums.push(sum);
    }
    known.set(first, { items: before, sums });
    return sum;
  };
}
