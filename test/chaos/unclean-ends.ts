/** Reads what the operator was told of processes that crashed. */
import type { Evidence } from './evidence.ts';

/** What is wrong with it: who was killed is told of where there is time for it, and nobody else is. Pure. */
export function wronglyTold(
  { uncleanEnds, faults }: Pick<Evidence, 'uncleanEnds' | 'faults'>,
  { isEndTold }: { isEndTold: boolean },
): string[] {
  const [first] = uncleanEnds;
  if (first === undefined) return isEndTold ? ['nobody was told of a process that was killed'] : [];
  return faults.length > 0 ? [] : [`an unclean end was told where there was none: ${first.slice(0, 160)}`];
}
