import type { Block } from '../block.ts';
import type { Fix } from './draft.ts';
import { isMarked, unmarked } from './shapes.ts';

export const BREAKPOINTS_MAX = 4;

/**
 * `breakpoints-few`: the oldest breakpoints go, since each covers what stands before it. Nothing that thinking is bound
 * to changes by that, so no part is marked as changed.
 */
export const fixBreakpoints: Fix = (draft) => {
  const { top } = draft;
  const blocks = draft.blocks(isMarked);
  const above = [top.tools, top.system].flat().filter(isMarked);
  let excess = Number(isMarked(top)) + above.length + blocks.length - BREAKPOINTS_MAX;
  const lighter = (holder: unknown, path: string): unknown => {
    if (excess <= 0 || !isMarked(holder)) return holder;
    excess -= 1;
    draft.note('breakpoints-few', path, 'dropped_breakpoint');
    return unmarked(holder);
  };
  for (const key of ['tools', 'system']) {
    const holders = top[key];
    if (Array.isArray(holders)) top[key] = holders.map((holder, at) => lighter(holder, `${key}.${at}`));
  }
  for (const place of blocks.slice(0, Math.max(0, excess))) place.block = lighter(place.block, place.path) as Block;
};
