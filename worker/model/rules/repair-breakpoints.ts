import { BREAKPOINTS_MAX } from './contract.ts';
import { isBreakpoint, isFields } from './contract-shapes.ts';
import { type Draft, type Mend, reviseBlocks } from './repair-draft.ts';

/**
 * Rule 14: the oldest breakpoints go, since each covers what stands before it. Nothing that thinking is bound to changes
 * by that, so no part is marked as changed.
 */
export const mendBreakpoints: Mend = (draft) => {
  const paths: string[] = [];
  reviseHolders(draft, (holder, path) => {
    if (isBreakpoint(holder.cache_control)) paths.push(path);
    return holder;
  });
  const own = isBreakpoint(draft.top.cache_control) ? 1 : 0;
  let excess = paths.length + own - BREAKPOINTS_MAX;
  if (excess <= 0) return;
  reviseHolders(draft, (holder, path) => {
    if (excess <= 0 || !isBreakpoint(holder.cache_control)) return holder;
    excess -= 1;
    draft.note(14, path, 'dropped_breakpoint');
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
