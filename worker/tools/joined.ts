import { steadyList } from './steady-list.ts';
import { type Toolbox, type ToolSpec, toolError } from './toolbox.ts';

/**
 * Several toolboxes as one. Of two tools with one name the first wins, so no server can shadow a tool of ours. `specs` is
 * the same array for as long as the tools are the same.
 */
export function joinToolboxes(boxes: readonly Toolbox[]): Toolbox {
  const steady = steadyList<ToolSpec>();
  const owners = (): Map<string, { box: Toolbox; spec: ToolSpec }> => {
    const found = new Map<string, { box: Toolbox; spec: ToolSpec }>();
    for (const box of boxes)
      for (const spec of box.specs()) if (!found.has(spec.name)) found.set(spec.name, { box, spec });
    return found;
  };
  return {
    specs: () => steady([...owners().values()].map(({ spec }) => spec)),
    async call(call, signal) {
      const owner = owners().get(call.name);
      return owner ? owner.box.call(call, signal) : toolError(`There is no tool of the name ${call.name}.`);
    },
  };
}
