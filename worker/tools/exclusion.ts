import { steadyList } from './steady-list.ts';
import { type OmittedTool, type Toolbox, type ToolSpec, toolError } from './toolbox.ts';

/** A toolbox from which tools can be removed. */
export interface Exclusions {
  /**
   * Removes a tool until the process ends: the model is no longer shown it, and a call to it returns an error text.
   * Returns whether it was there before. Idempotent.
   */
  exclude(name: string, why: string): boolean;
  /** The removed tools, oldest first. */
  excluded(): readonly OmittedTool[];
}

/**
 * Lets tools be removed from a toolbox in use, such as one that the model's API has named in a refusal. `specs` keeps
 * the order, and is the same array for as long as the toolbox has the same tools and nothing is removed.
 */
export function withExclusions<Box extends Toolbox>(box: Box): Box & Exclusions {
  const excluded = new Map<string, string>();
  const steady = steadyList<ToolSpec>();
  const specs = () => steady(box.specs().filter(({ name }) => !excluded.has(name)));
  return {
    ...box,
    specs,
    async call(call, signal) {
      if (excluded.has(call.name)) return toolError('This tool is not available any more. Go on without it.');
      return box.call(call, signal);
    },
    exclude(name, why) {
      if (!specs().some((spec) => spec.name === name)) return false;
      excluded.set(name, why);
      return true;
    },
    excluded: () => [...excluded].map(([tool, why]) => ({ tool, why })),
  };
}
