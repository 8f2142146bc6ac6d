import { type Draft, type Fix, reviseBlocks } from './draft.ts';
import { isBreakpoint, isFields } from './shapes.ts';

export const BREAKPOINTS_MAX = 4;

/**
 * `breakpoints-few`: the oldest breakpoints go, since each covers what stands before it. Nothing that thinking is bound to
 * changes by that, so no part is marked as changed.
 */
export const fixBreakpoints: Fix = (draft) => {
  let excess = (isBreakpoint(draft.top.cache_control) ? 1 : 0) - BREAKPOINTS_MAX;
  reviseHolders(draft, (holder) => {
    if (isBreakpoint(holder.cache_control)) excess += 1;
    return holder;
  });
  if (excess <= 0) return;
  reviseHolders(draft, (holder, path) => {
    if (excess <= 0 || !isBreakpoint(holder.cache_control)) return holder;
    excess -= 1;
    draft.note('breakpoints-few', path, 'dropped_breakpoint');
    const { cache_control, ...unmarked } = holder;
    return unmarked as typeof holder;
  });
};

type Revise = <Holder extends Readonly<Record<string, unknown>>>(holder: Holder, path: string) => Holder;

/** Everything that may hold a breakpoint, in the order in which the API reads it. */
function reviseHolders(draft: Draft, revise: Revise): void {
  for (const key of ['tools', 'system']) {
    const holders = draft.top[key];
    if (!Array.isArray(holders)) continue;
    draft.top[key] = holders.map((holder: unknown, at) => (isFields(holder) ? revise(holder, `${key}.${at}`) : holder));
  }
  reviseBlocks(draft, revise, 'no change');
}
