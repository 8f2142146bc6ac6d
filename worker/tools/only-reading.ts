import { steadyList } from './steady-list.ts';
import { type Toolbox, type ToolSpec, toolError } from './toolbox.ts';

const NOT_PERMITTED = 'Only people on the allow list may use this tool in this group. Tell the person so.';

/**
 * A toolbox as guests of a group have it: tools that do more than read are neither shown nor called, also where the model
 * knows one from before. A server says of its own tools which only read (`readOnlyHint`).
 */
export function onlyReading<Box extends Toolbox>(box: Box): Box {
  const steady = steadyList<ToolSpec>();
  return {
    ...box,
    specs: () => steady(box.specs().filter(({ onlyReads }) => onlyReads)),
    async call(call, signal) {
      const isBarred = box.specs().some(({ name, onlyReads }) => name === call.name && !onlyReads);
      return isBarred ? toolError(NOT_PERMITTED) : box.call(call, signal);
    },
  };
}
